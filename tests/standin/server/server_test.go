package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
	"github.com/rdma-engine/rdma-engine/tests/standin/volumetest"
)

func pack(data []byte) []byte {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(data)
	_ = writer.Close()
	return packed.Bytes()
}

func get(t *testing.T, url string, header http.Header) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	if header == nil {
		request.Header = http.Header{"Accept-Encoding": {"identity"}}
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(body)
}

func serve(t *testing.T, build *volumetest.Builder, options Options) string {
	t.Helper()
	dir := t.TempDir()
	if err := build.Save(dir); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(New(volume.Open(dir), options))
	t.Cleanup(web.Close)
	return web.URL + "/"
}

func TestServesTheLastObjectOfAKey(t *testing.T) {
	build := volumetest.New(3)
	build.Add(1, volumetest.Object{Data: []byte("first")})
	id := build.Add(1, volumetest.Object{Data: []byte("second")})
	code, _, body := get(t, serve(t, build, Options{})+id.String(), nil)
	if code != http.StatusOK || body != "second" {
		t.Errorf("got %d %q", code, body)
	}
}

func TestADeletedObjectIsNotFound(t *testing.T) {
	build := volumetest.New(3)
	id := build.Add(1, volumetest.Object{Data: []byte("x")})
	build.Delete(1)
	if code, _, _ := get(t, serve(t, build, Options{})+id.String(), nil); code != http.StatusNotFound {
		t.Errorf("got %d", code)
	}
}

func TestAWrongCookieIsNotFound(t *testing.T) {
	build := volumetest.New(3)
	id := build.Add(1, volumetest.Object{Data: []byte("x")})
	id.Cookie++
	if code, _, _ := get(t, serve(t, build, Options{})+id.String(), nil); code != http.StatusNotFound {
		t.Errorf("got %d", code)
	}
}

func TestABrokenCRCIsAServerError(t *testing.T) {
	build := volumetest.New(3)
	id := build.Add(1, volumetest.Object{Data: []byte("x"), BreakCRC: true})
	if code, _, _ := get(t, serve(t, build, Options{})+id.String(), nil); code != http.StatusInternalServerError {
		t.Errorf("got %d", code)
	}
}

func TestRangesOfAPackedObjectCountUnpackedBytes(t *testing.T) {
	build := volumetest.New(3)
	plain := strings.Repeat("0123456789", 1000)
	id := build.Add(1, volumetest.Object{Data: pack([]byte(plain)), Gzip: true})
	header := http.Header{"Accept-Encoding": {"identity"}, "Range": {"bytes=5000-5009"}}
	code, answer, body := get(t, serve(t, build, Options{})+id.String(), header)
	if code != http.StatusPartialContent || body != "0123456789" || answer.Get("Content-Range") != "bytes 5000-5009/10000" {
		t.Errorf("got %d %q %q", code, body, answer.Get("Content-Range"))
	}
}

func TestAManifestIsResolved(t *testing.T) {
	build := volumetest.New(3)
	one := build.Add(1, volumetest.Object{Data: []byte("hello ")})
	two := build.Add(2, volumetest.Object{Data: []byte("world")})
	manifest, err := json.Marshal(map[string]any{"name": "whole", "size": 11, "chunks": []map[string]any{
		{"fid": one.String(), "offset": 0, "size": 6}, {"fid": two.String(), "offset": 6, "size": 5}}})
	if err != nil {
		t.Fatal(err)
	}
	id := build.Add(3, volumetest.Object{Data: manifest, Manifest: true})
	code, header, body := get(t, serve(t, build, Options{})+id.String(), nil)
	if code != http.StatusOK || body != "hello world" || header.Get("X-File-Store") != "chunked" {
		t.Errorf("got %d %q %v", code, body, header)
	}
}

func TestWithAReadKeyAReadWithoutTokenIsRefusedFirst(t *testing.T) {
	url := serve(t, volumetest.New(3), Options{ReadKey: []byte("k")})
	if code, _, body := get(t, url+"not-a-file-id", nil); code != http.StatusUnauthorized || !strings.Contains(body, "error") {
		t.Errorf("got %d %q", code, body)
	}
}

func TestTheDelayIsWaited(t *testing.T) {
	url := serve(t, volumetest.New(3), Options{Delay: 30 * time.Millisecond})
	start := time.Now()
	get(t, url+"3,0100000000", nil)
	if waited := time.Since(start); waited < 30*time.Millisecond {
		t.Errorf("answered after %v", waited)
	}
}

func TestTheMasterNamesTheServersThatHaveAVolume(t *testing.T) {
	build := volumetest.New(3)
	build.Add(1, volumetest.Object{Data: []byte("x")})
	server := strings.TrimSuffix(strings.TrimPrefix(serve(t, build, Options{}), "http://"), "/")
	master := httptest.NewServer(NewMaster(server, "127.0.0.1:1"))
	defer master.Close()
	code, _, body := get(t, master.URL+"/dir/lookup?volumeId=3", nil)
	if code != http.StatusOK || !strings.Contains(body, server) || strings.Contains(body, "127.0.0.1:1\"") {
		t.Errorf("got %d %q", code, body)
	}
	if code, _, body = get(t, master.URL+"/dir/lookup?volumeId=4", nil); code != http.StatusNotFound || !strings.Contains(body, "error") {
		t.Errorf("got %d %q", code, body)
	}
}
