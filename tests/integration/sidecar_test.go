package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

// stack is everything that a gateway host runs, and the storage host beside it.
type stack struct {
	t       *testing.T
	dir     string
	storage *harness.Engine
	gateway *harness.Engine
	sidecar *harness.Process
	http    *http.Client
}

func startStack(t *testing.T, dir string) *stack {
	t.Helper()
	s := &stack{t: t, dir: dir, http: &http.Client{Timeout: harness.Patience}}
	s.storage = harness.StartStorage(t, dir)
	s.gateway = harness.StartGateway(t, s.storage)
	standin := harness.Start(t, "volume-standin", "--dir", dir, "--http", "127.0.0.1:0")
	s.sidecar = harness.Start(t, "rdma-sidecar", "-p", "0", "-e", s.gateway.Socket, "-v", "http://"+standin.Ready["http"])
	t.Cleanup(s.http.CloseIdleConnections)
	return s
}

// read answers status, X-Data-Path and SHA-256 of a whole object.
func (s *stack) read(fid string) (int, string, string) {
	answer, err := s.http.Get("http://" + s.sidecar.Ready["http"] + "/read?file_id=" + url.QueryEscape(fid))
	if err != nil {
		s.t.Errorf("%s: %v", fid, err)
		return 0, "", ""
	}
	defer answer.Body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, answer.Body); err != nil {
		s.t.Errorf("%s: body: %v", fid, err)
		return 0, "", ""
	}
	return answer.StatusCode, answer.Header.Get("X-Source") + answer.Header.Get("X-Data-Path"), hex.EncodeToString(sum.Sum(nil))
}

func (s *stack) check(want harness.Object) {
	s.t.Helper()
	status, path, sum := s.read(want.FID)
	if want.Expired || want.Missing {
		if status != http.StatusNotFound {
			s.t.Errorf("%s is gone, but the sidecar answers %d", want.FID, status)
		}
		return
	}
	if status != http.StatusOK || (want.SHA256 != "" && sum != want.SHA256) {
		s.t.Errorf("%s (%s): status %d over %s, sha256 %s; want %s", want.FID, want.What, status, path, sum, want.SHA256)
	}
}

func (s *stack) awaitPath(fid, path string) {
	s.t.Helper()
	harness.Eventually(s.t, fid+" is read by "+path, func() bool {
		status, source, _ := s.read(fid)
		return status == http.StatusOK && strings.Contains(source, path)
	})
}

func TestTheSidecarServesEveryObjectByTheEngine(t *testing.T) {
	s := startStack(t, exports(t)[0])
	objects := readable(harness.Objects(t, s.dir))
	s.awaitPath(objects[0].FID, "rdma")
	for _, object := range objects {
		s.check(object)
	}
}

func TestNoReadFailsWhileTheGatewayEngineIsKilledAndComesBack(t *testing.T) {
	s := startStack(t, harness.Data(t, "volumes"))
	objects := readable(harness.Objects(t, s.dir))
	s.awaitPath(objects[0].FID, "rdma")
	var stop atomic.Bool
	var reads atomic.Int64
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				for _, object := range objects {
					s.check(object)
					reads.Add(1)
				}
			}
		})
	}
	for range 3 {
		before := reads.Load()
		harness.Eventually(t, "reads go on", func() bool { return reads.Load() > before+20 })
		s.gateway.Kill()
		before = reads.Load()
		harness.Eventually(t, "reads go on without the engine", func() bool { return reads.Load() > before+20 })
		s.gateway = harness.StartEngineAt(t, s.gateway.Socket, "--transport", "tcp", "--peer", s.storage.Listen)
		s.awaitPath(objects[0].FID, "rdma")
	}
	stop.Store(true)
	readers.Wait()
}

func TestReadsAreAnsweredWhileTheGatewayEngineIsFrozen(t *testing.T) {
	s := startStack(t, harness.Data(t, "volumes"))
	objects := readable(harness.Objects(t, s.dir))
	s.awaitPath(objects[0].FID, "rdma")
	s.gateway.Signal(syscall.SIGSTOP)
	for _, object := range objects[:5] {
		s.check(object)
	}
	s.gateway.Signal(syscall.SIGCONT)
	s.awaitPath(objects[0].FID, "rdma")
}

func TestReadsAreAnsweredWhileTheStorageEngineIsKilledOrFrozen(t *testing.T) {
	s := startStack(t, harness.Data(t, "volumes"))
	objects := readable(harness.Objects(t, s.dir))
	s.awaitPath(objects[0].FID, "rdma")
	s.storage.Signal(syscall.SIGSTOP)
	for _, object := range objects[:3] {
		s.check(object)
	}
	s.storage.Signal(syscall.SIGCONT)
	s.storage.Kill()
	for _, object := range objects {
		s.check(object)
	}
}

func TestASidecarThatIsKilledOrFrozenLeavesNothingInTheEngine(t *testing.T) {
	s := startStack(t, harness.Data(t, "volumes"))
	fid := readable(harness.Objects(t, s.dir))[0].FID
	s.awaitPath(fid, "rdma")
	client := harness.Attach(t, s.gateway, rdeOptions())
	s.sidecar.Signal(syscall.SIGSTOP)
	time.Sleep(50 * time.Millisecond)
	if err := client.Nop(harness.Context(t)); err != nil {
		t.Errorf("beside a frozen sidecar: %v", err)
	}
	s.sidecar.Signal(syscall.SIGCONT)
	segments := harness.Mappings(t, s.gateway.PID())
	s.sidecar.Kill()
	harness.Eventually(t, "the sidecar's segment is gone", func() bool {
		return harness.Mappings(t, s.gateway.PID()) < segments
	})
	if err := client.Nop(harness.Context(t)); err != nil {
		t.Errorf("after the sidecar's death: %v", err)
	}
}
