package app

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/tests/standin/server"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
	"github.com/rdma-engine/rdma-engine/tests/standin/volumetest"
)

// The objects of the test volume, number 3.
var (
	smallData  = pattern(5000, 1)
	largeData  = pattern(3<<20+123, 2)
	packedData = []byte(strings.Repeat("the quick brown fox jumps over the lazy dog. ", 2000))

	smallID  = fileID(1)
	largeID  = fileID(2)
	packedID = fileID(3)
	emptyID  = fileID(4)
)

func pattern(size int, seed uint64) []byte {
	source := rand.NewChaCha8([32]byte{byte(seed)})
	data := make([]byte, size)
	_, _ = source.Read(data)
	return data
}

func fileID(key uint64) string {
	return volume.FileID{Volume: 3, Key: key, Cookie: uint32(key*2654435761) | 1}.String()
}

func pack(data []byte) []byte {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(data)
	_ = writer.Close()
	return packed.Bytes()
}

// testVolume writes volume 3 into a folder of its own.
func testVolume(t *testing.T) string {
	t.Helper()
	build := volumetest.New(3)
	build.Add(1, volumetest.Object{Data: smallData, Name: "small.bin", Mime: "image/png", LastModified: 1500000000})
	build.Add(2, volumetest.Object{Data: largeData, LastModified: 1500000000})
	build.Add(3, volumetest.Object{Data: pack(packedData), Gzip: true, Mime: "text/plain", LastModified: 1500000000})
	build.Add(4, volumetest.Object{})
	dir := t.TempDir()
	if err := build.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bigPackedData is too large for its size to be found out and kept at once.
var bigPackedData = []byte(strings.Repeat("pack my box with five dozen liquor jugs. ", 150000))

// packedVolume writes a volume 3 whose one object unpacks to bigPackedData.
func packedVolume(t *testing.T) string {
	t.Helper()
	build := volumetest.New(3)
	build.Add(3, volumetest.Object{Data: pack(bigPackedData), Gzip: true, LastModified: 1500000000})
	dir := t.TempDir()
	if err := build.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// volumeServer serves folders as a volume server does.
func volumeServer(t *testing.T, dirs ...string) *httptest.Server {
	t.Helper()
	web := httptest.NewServer(server.New(volume.Open(dirs...), server.Options{}))
	t.Cleanup(web.Close)
	return web
}

// rig is a sidecar under test.
type rig struct {
	*testing.T
	app *App
	url string
}

// off is what a test turns off; all is on otherwise.
type off int

const (
	noCompat off = iota
	noZeroCopy
)

// newRig starts a sidecar; a nil fake leaves the engine away.
func newRig(t *testing.T, c config.Config, fake *enginetest.Fake, without ...off) *rig {
	t.Helper()
	defaults, err := config.Parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for value, otherwise := range map[*time.Duration]time.Duration{&c.Timeout: 10 * time.Second, &c.EngineTimeout: 10 * time.Second,
		&c.ConnectTimeout: 2 * time.Second, &c.MaxIdleTime: defaults.MaxIdleTime} {
		if *value == 0 {
			*value = otherwise
		}
	}
	c.MountCompat, c.ZeroCopy = !slices.Contains(without, noCompat), !slices.Contains(without, noZeroCopy)
	if fake == nil {
		fake = enginetest.New()
		fake.Refuse.Store(true)
	}
	c.EnableRDMA, c.MaxConnections = true, defaults.MaxConnections
	a := New(c, fake.Attach, slog.New(slog.NewTextHandler(t.Output(), nil)))
	t.Cleanup(a.Start())
	web := httptest.NewUnstartedServer(a.Handler)
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	web.Start()
	t.Cleanup(web.Close)
	r := &rig{T: t, app: a, url: web.URL}
	if !fake.Refuse.Load() {
		r.attached()
	}
	return r
}

// attached waits until the sidecar has an engine.
func (r *rig) attached() {
	r.Helper()
	for deadline := time.Now().Add(10 * time.Second); r.app.manager.Current() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatal("no engine was attached")
		}
	}
}

// answer is what came of a request.
type answer struct {
	code   int
	header http.Header
	body   []byte
	err    error // of the connection, or of the body
}

func (a answer) source() string { return a.header.Get("X-Source") }

func (r *rig) do(method, path string, headers ...string) answer {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	reply, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return answer{err: err}
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	return answer{reply.StatusCode, reply.Header, body, err}
}

func (r *rig) get(path string, headers ...string) answer {
	r.Helper()
	return r.do(http.MethodGet, path, headers...)
}

// want checks an answer with a body.
func (r *rig) want(got answer, code int, source string, body []byte) {
	r.Helper()
	if got.err != nil || got.code != code || got.source() != source {
		r.Fatalf("got status %d, source %q, error %v, body %.200q; want %d, %q", got.code, got.source(), got.err, got.body, code, source)
	}
	if !bytes.Equal(got.body, body) {
		r.Fatalf("the body of %d bytes is not the right one of %d", len(got.body), len(body))
	}
}
