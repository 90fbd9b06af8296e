package app

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
	"github.com/rdma-engine/rdma-engine/tests/standin/volumetest"
)

// mountRead is how a mount asks: the server's URL is not escaped.
func mountRead(id string, offset, size int, server string) string {
	return fmt.Sprintf("/read?file_id=%s&offset=%d&size=%d&volume_server=%s", id, offset, size, server)
}

func (r *rig) wantDeclined(got answer) {
	r.Helper()
	r.want(got, http.StatusOK, "local", nil)
	if got.header.Get("X-RDMA-Used") != "false" || got.header.Get("Content-Length") != "0" || got.header.Get("X-Data-Path") == "" {
		r.Errorf("headers %v", got.header)
	}
}

func TestAMountReadInsideAnObjectHasABody(t *testing.T) {
	dir := testVolume(t)
	server := volumeServer(t, dir).URL
	r := newRig(t, config.Config{VolumeServer: cluster.Server(server)}, enginetest.New(dir))
	for id, data := range map[string][]byte{smallID: smallData, largeID: largeData, packedID: packedData} {
		for range 2 { // also when the object is known from before
			r.want(r.get(mountRead(id, 100, 4000, server)), http.StatusOK, "rdma", data[100:4100])
			r.want(r.get(mountRead(id, 0, len(data)-1, server)), http.StatusOK, "rdma", data[:len(data)-1])
		}
	}
}

func TestAMountReadThatReachesTheEndIsLeftToTheMount(t *testing.T) {
	dir := testVolume(t)
	server := volumeServer(t, dir).URL
	for name, fake := range map[string]*enginetest.Fake{"engine": enginetest.New(dir), "http": nil} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, config.Config{VolumeServer: cluster.Server(server)}, fake)
			count := 0
			for id, data := range map[string][]byte{smallID: smallData, largeID: largeData, packedID: packedData, emptyID: nil} {
				for _, part := range [][2]int{{0, len(data) + 1}, {len(data), 1}, {max(len(data)-10, 0), 10}, {0, max(len(data), 1)}} {
					r.wantDeclined(r.get(mountRead(id, part[0], part[1], server)))
					count++
				}
			}
			if text := string(r.get("/metrics").body); !strings.Contains(text, fmt.Sprintf("\nmount_tail_declined_total %d\n", count)) {
				t.Errorf("mount_tail_declined_total is not %d", count)
			}
			if fake != nil && fake.Reads.Load() != 0 {
				t.Errorf("%d reads for bytes that were thrown away", fake.Reads.Load())
			}
		})
	}
}

func TestOnlyMountReadsAreDeclined(t *testing.T) {
	dir := testVolume(t)
	server := volumeServer(t, dir).URL
	r := newRig(t, config.Config{VolumeServer: cluster.Server(server)}, enginetest.New(dir))
	r.want(r.get("/read?file_id="+smallID+"&offset=0&size=5000"), http.StatusOK, "rdma", smallData)
	r.want(r.get(mountRead(smallID, 0, 0, server)), http.StatusOK, "rdma", smallData)
	r.want(r.get("/rdma"+mountRead(smallID, 0, 5000, server)), http.StatusOK, "rdma", smallData)
	r.want(r.get(mountRead(smallID, 0, 5000, server), "Range", "bytes=0-"), http.StatusPartialContent, "rdma", smallData)
	r = newRig(t, config.Config{VolumeServer: cluster.Server(server)}, enginetest.New(dir), noCompat)
	r.want(r.get(mountRead(smallID, 0, 5000, server)), http.StatusOK, "rdma", smallData)
}

func TestAnObjectThatShrankIsDeclinedAlthoughItWasLonger(t *testing.T) {
	dir := t.TempDir()
	build := volumetest.New(3)
	build.Add(1, volumetest.Object{Data: smallData})
	if err := build.Save(dir); err != nil {
		t.Fatal(err)
	}
	server := volumeServer(t, dir).URL
	r := newRig(t, config.Config{VolumeServer: cluster.Server(server)}, enginetest.New(dir))
	r.want(r.get(mountRead(smallID, 0, 4000, server)), http.StatusOK, "rdma", smallData[:4000])
	build.Add(1, volumetest.Object{Data: smallData[:3000]})
	if err := build.Save(dir); err != nil {
		t.Fatal(err)
	}
	r.wantDeclined(r.get(mountRead(smallID, 0, 4000, server)))
}

// The sizes of the objects that the recorded mount read.
var mountObjects = map[string]struct {
	size   int
	packed bool
}{
	"1,fffffffffffffff1a48ec32a": {5000, false}, "1,fffffffffffffff296f002b3": {300000, false}, "1,fffffffffffffff31ce3675c": {4 << 20, false},
	"1,fffffffffffffff49b7ab898": {4 << 20, false}, "1,fffffffffffffff657b6a1a0": {728890, true},
}

func TestWhatARecordedMountAskedForIsAnsweredRight(t *testing.T) {
	shared := os.Getenv("RDE_SHARED")
	if shared == "" {
		t.Skip("RDE_SHARED is not set: no recorded requests")
	}
	build, contents, dir := volumetest.New(1), map[string][]byte{}, t.TempDir()
	for text, object := range mountObjects {
		volumeText, keyCookie, _ := strings.Cut(text, ",")
		id, err := volume.ParseFileID(volumeText, keyCookie)
		if err != nil {
			t.Fatal(err)
		}
		contents[text] = pattern(object.size, id.Key)
		stored := contents[text]
		if object.packed {
			stored = pack(stored)
		}
		build.AddID(id, volumetest.Object{Data: stored, Gzip: object.packed})
	}
	if err := build.Save(dir); err != nil {
		t.Fatal(err)
	}
	web := volumeServer(t, dir)
	for name, fake := range map[string]*enginetest.Fake{"rdma": enginetest.New(dir), "http": nil} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, config.Config{Allowed: []string{web.Listener.Addr().String()}}, fake)
			file, err := os.Open(filepath.Join(shared, "fixtures", "mount.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			for lines := bufio.NewScanner(file); lines.Scan(); {
				var request struct {
					Path    string
					Headers map[string]string
				}
				if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
					t.Fatal(err)
				}
				path := strings.Replace(request.Path, "http://127.0.0.1:8080", web.URL, 1)
				got := r.get(path, "User-Agent", request.Headers["User-Agent"], "Accept-Encoding", request.Headers["Accept-Encoding"])
				if path == "/health" {
					r.checkHealthForMount(got)
					continue
				}
				r.checkMountAnswer(path, got, name, contents)
			}
		})
	}
}

func (r *rig) checkHealthForMount(got answer) {
	r.Helper()
	var health struct {
		Status string
		RDMA   struct{ Enabled bool }
	}
	if err := json.Unmarshal(got.body, &health); err != nil || got.code != http.StatusOK || health.Status != "healthy" || !health.RDMA.Enabled {
		r.Fatalf("health: %d %s", got.code, got.body)
	}
}

// checkMountAnswer holds an answer against what a mount makes of it: bytes must be right, and must not end the object.
func (r *rig) checkMountAnswer(path string, got answer, source string, contents map[string][]byte) {
	r.Helper()
	_, raw, _ := strings.Cut(path, "?")
	query, err := url.ParseQuery(raw)
	if err != nil {
		r.Fatal(err)
	}
	offset, _ := strconv.Atoi(query.Get("offset"))
	size, _ := strconv.Atoi(query.Get("size"))
	data := contents[query.Get("file_id")]
	if offset+size >= len(data) {
		r.wantDeclined(got)
		return
	}
	r.want(got, http.StatusOK, source, data[offset:offset+size])
}
