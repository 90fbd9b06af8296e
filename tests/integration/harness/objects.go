package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Object is a line of an objects.jsonl: what a reader must see.
type Object struct {
	FID          string   `json:"fid"`
	Size         int64    `json:"size"`
	SHA256       string   `json:"sha256"`
	What         string   `json:"what"`
	ETag         string   `json:"etag"`
	StoredSize   int64    `json:"stored_size"`
	StoredSHA256 string   `json:"stored_sha256"`
	Gzip         bool     `json:"gzip"`
	Expired      bool     `json:"expired"`
	Missing      bool     `json:"missing"`
	Manifest     bool     `json:"manifest"`
	Parts        []string `json:"parts"`
}

// Data is a directory below tests/data.
func Data(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(Root(t), "tests", "data", name)
}

// Shared is a directory of further fixtures, or "" where there is none.
func Shared(name string) string {
	dir := os.Getenv("RDE_SHARED")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, "fixtures", name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Objects reads the objects.jsonl of a directory.
func Objects(t *testing.T, dir string) []Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "objects.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []Object
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var object Object
		if err := json.Unmarshal(lines.Bytes(), &object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		t.Fatalf("%s names no object", dir)
	}
	return objects
}
