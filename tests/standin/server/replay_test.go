package server

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

type exchange struct {
	Note          string
	Method        string
	Path          string
	Headers       map[string]string
	Status        int
	AnswerHeaders map[string]string `json:"answer_headers"`
	BodySize      int               `json:"body_size"`
	BodySHA256    string            `json:"body_sha256"`
}

func TestAnswersAsARealVolumeServerDid(t *testing.T) {
	shared := os.Getenv("RDE_SHARED")
	if shared == "" {
		t.Skip("RDE_SHARED is not set: no recorded answers to compare with")
	}
	fixtures := filepath.Join(shared, "fixtures")
	store := volume.Open(filepath.Join(fixtures, "volumes"), filepath.Join(fixtures, "history", "3-vacuumed"))
	web := httptest.NewServer(New(store, Options{}))
	defer web.Close()
	file, err := os.Open(filepath.Join(fixtures, "http.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	count := 0
	for ; lines.Scan(); count++ {
		var want exchange
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		t.Run(want.Note, func(t *testing.T) { replay(t, web.URL, want) })
	}
	if count < 100 {
		t.Errorf("only %d recorded requests", count)
	}
}

func replay(t *testing.T, base string, want exchange) {
	request, err := http.NewRequest(want.Method, base+want.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range want.Headers {
		request.Header.Set(key, value)
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(want.Note, "a fault not to copy: 400") {
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", want.Path, answer.StatusCode)
		}
		return
	}
	if answer.StatusCode != want.Status {
		t.Fatalf("%s: status %d, want %d", want.Path, answer.StatusCode, want.Status)
	}
	// The boundary of a multipart answer is random: put the recorded one in the place of ours.
	_, ours, parted := strings.Cut(answer.Header.Get("Content-Type"), "boundary=")
	if _, recorded, ok := strings.Cut(want.AnswerHeaders["Content-Type"], "boundary="); parted && ok {
		body = []byte(strings.ReplaceAll(string(body), ours, recorded))
		answer.Header.Set("Content-Type", "multipart/byteranges; boundary="+recorded)
	}
	for key, value := range want.AnswerHeaders {
		if got := answer.Header.Get(key); got != value {
			t.Errorf("%s: %s is %q, want %q", want.Path, key, got, value)
		}
	}
	sum := sha256.Sum256(body)
	if len(body) != want.BodySize || hex.EncodeToString(sum[:]) != want.BodySHA256 {
		t.Errorf("%s: body of %d bytes differs from the recorded one of %d", want.Path, len(body), want.BodySize)
	}
}
