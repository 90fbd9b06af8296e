package app

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
)

// record is a line of objects.jsonl.
type record struct {
	Fid              string
	Size             int
	SHA256           string
	ETag             string
	Expired, Missing bool
	Manifest         bool
}

func records(t *testing.T, path string) []record {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []record
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestRealObjectsAreReadRightByBothPaths(t *testing.T) {
	shared := os.Getenv("RDE_SHARED")
	if shared == "" {
		t.Skip("RDE_SHARED is not set: no real volumes")
	}
	for _, part := range []string{"volumes", "history/1-first", "history/2-changed", "history/3-vacuumed"} {
		dir := filepath.Join(shared, "fixtures", part)
		server := cluster.Server(volumeServer(t, dir).URL)
		for source, fake := range map[string]*enginetest.Fake{"rdma": enginetest.New(dir), "http": nil} {
			t.Run(part+" "+source, func(t *testing.T) {
				r := newRig(t, config.Config{VolumeServer: server}, fake)
				for _, want := range records(t, filepath.Join(dir, "objects.jsonl")) {
					r.checkRecord(want, source)
				}
			})
		}
	}
}

func (r *rig) checkRecord(want record, source string) {
	r.Helper()
	got := r.get("/read?file_id=" + want.Fid)
	if want.Expired || want.Missing {
		if got.code != http.StatusNotFound {
			r.Errorf("%s: got %d, want 404", want.Fid, got.code)
		}
		return
	}
	if want.Manifest {
		source = "http" // the fake joins no manifests
	}
	sum := sha256.Sum256(got.body)
	if got.code != http.StatusOK || got.source() != source || len(got.body) != want.Size || want.SHA256 != "" && hex.EncodeToString(sum[:]) != want.SHA256 {
		r.Errorf("%s: got %d by %s, %d bytes", want.Fid, got.code, got.source(), len(got.body))
	}
	if want.ETag != "" && got.header.Get("ETag") != want.ETag {
		r.Errorf("%s: ETag %s, want %s", want.Fid, got.header.Get("ETag"), want.ETag)
	}
}

func TestRecordedRangesAreAnsweredRightByBothPaths(t *testing.T) {
	shared := os.Getenv("RDE_SHARED")
	if shared == "" {
		t.Skip("RDE_SHARED is not set: no recorded answers")
	}
	fixtures := filepath.Join(shared, "fixtures")
	dirs := []string{filepath.Join(fixtures, "volumes"), filepath.Join(fixtures, "history", "3-vacuumed")}
	server := cluster.Server(volumeServer(t, dirs...).URL)
	for source, fake := range map[string]*enginetest.Fake{"rdma": enginetest.New(dirs...), "http": nil} {
		t.Run(source, func(t *testing.T) {
			r := newRig(t, config.Config{VolumeServer: server}, fake)
			file, err := os.Open(filepath.Join(fixtures, "http.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			lines := bufio.NewScanner(file)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var want recordedAnswer
				if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
					t.Fatal(err)
				}
				r.checkRecorded(want)
			}
		})
	}
}

type recordedAnswer struct {
	Note, Method, Path string
	Headers            map[string]string
	Status             int
	BodySize           int    `json:"body_size"`
	BodySHA256         string `json:"body_sha256"`
}

// checkRecorded asks the sidecar what a real volume server was asked. Where its answer is a quirk, or is about
// packed bytes, several ranges or forms of URLs that the sidecar has not, ours is another.
func (r *rig) checkRecorded(want recordedAnswer) {
	r.Helper()
	fid := strings.TrimPrefix(want.Path, "/")
	status := want.Status
	switch {
	case strings.Contains(want.Path, "?"), strings.Count(want.Path, "/") > 2, strings.Contains(fid, "."),
		strings.Contains(want.Headers["Accept-Encoding"], "gzip"), strings.Contains(want.Headers["Range"], ","):
		return
	case strings.Contains(want.Note, "wraps"):
		status = http.StatusBadRequest
	case want.Headers["Range"] == "bytes=4097-", want.Headers["Range"] == "bytes=":
		status = http.StatusRequestedRangeNotSatisfiable
	case want.Headers["Range"] == "bits=0-5":
		status = http.StatusOK // another unit is to be ignored
	}
	var headers []string
	for key, value := range want.Headers {
		headers = append(headers, key, value)
	}
	got := r.do(want.Method, "/read?file_id="+fid, headers...)
	if got.err != nil || got.code != status {
		r.Errorf("%s, %v: got %d %v, want %d", want.Path, want.Headers, got.code, got.err, status)
		return
	}
	sum := sha256.Sum256(got.body)
	if status == want.Status && status < 300 && (len(got.body) != want.BodySize || hex.EncodeToString(sum[:]) != want.BodySHA256) {
		r.Errorf("%s, %v: %d bytes are not the recorded %d", want.Path, want.Headers, len(got.body), want.BodySize)
	}
}
