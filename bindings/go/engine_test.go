package rde

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// These tests run on a real engine, which the folder RDE_BIN_DIR has, and real volumes, which RDE_SHARED has.

// realEngine starts one on the fixtures' volumes, and ends it with the test.
func realEngine(t testing.TB, more ...string) (socket string, process *os.Process) {
	t.Helper()
	socket, _, process = realPeer(t, more...)
	return socket, process
}

// realPeer also says where other engines reach it.
func realPeer(t testing.TB, more ...string) (socket, listen string, process *os.Process) {
	t.Helper()
	bin, shared := os.Getenv("RDE_BIN_DIR"), os.Getenv("RDE_SHARED")
	if bin == "" || shared == "" {
		t.Skip("RDE_BIN_DIR and RDE_SHARED name no engine and no fixtures")
	}
	socket = filepath.Join(t.TempDir(), "e.sock")
	arguments := append([]string{"--socket", socket, "--export", filepath.Join(shared, "fixtures/volumes"), "--listen", "127.0.0.1:0"}, more...)
	cmd := exec.Command(filepath.Join(bin, "rdma-engine"), arguments...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said := new(strings.Builder)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	ready := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		ready <- line
	}()
	select {
	case line := <-ready:
		if !strings.HasPrefix(line, "ready ") {
			t.Fatalf("the engine said %q", line)
		}
		_, after, _ := strings.Cut(line, "listen=")
		listen, _, _ = strings.Cut(after, " ")
	case <-time.After(30 * time.Second):
		t.Fatal("the engine is not ready")
	}
	return socket, listen, cmd.Process
}

func attachReal(t testing.TB, socket string, o Options) *Client {
	t.Helper()
	o.Socket = socket
	c, err := Attach(watchdog(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// fixture is an object as the store's own server gave it.
type fixture struct {
	FID     string   `json:"fid"`
	Size    int      `json:"size"`
	SHA256  string   `json:"sha256"`
	ETag    string   `json:"etag"`
	Expired bool     `json:"expired"`
	Parts   []string `json:"parts"` // of a manifest: the whole is these, one after the other
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	file, err := os.Open(filepath.Join(os.Getenv("RDE_SHARED"), "fixtures/volumes/objects.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = file.Close() }()
	var all []fixture
	for lines := json.NewDecoder(file); lines.More(); {
		var f fixture
		if err := lines.Decode(&f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func TestEveryFixtureComesOutAsItsServerGaveIt(t *testing.T) {
	socket, _ := realEngine(t)
	c := attachReal(t, socket, Options{})
	ctx := watchdog(t)
	seen := map[string][]byte{}
	for _, f := range fixtures(t) {
		id, err := ParseFileID(f.FID)
		if err != nil {
			t.Error(err)
			continue
		}
		o, err := c.ReadObject(ctx, 0, id)
		if f.Expired {
			if !errors.Is(err, StatusObjectNotFound) {
				t.Errorf("%s has expired: error is %v", f.FID, err)
			}
			continue
		}
		etag := ""
		if err == nil {
			etag = fmt.Sprintf("%q", fmt.Sprintf("%08x", o.ETag()))
		}
		whole, err := opened(o, err)
		seen[f.FID] = whole
		want := f.SHA256
		if len(f.Parts) > 0 {
			want = sumOf(seen, f.Parts)
		}
		if sum := sha256.Sum256(whole); err != nil || len(whole) != f.Size || hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: %d bytes, want %d; error %v", f.FID, len(whole), f.Size, err)
			continue
		}
		if f.ETag != "" && etag != "" && etag != f.ETag {
			t.Errorf("%s: etag is %s, want %s", f.FID, etag, f.ETag)
		}
		for _, r := range [][2]int{{0, 1}, {f.Size / 2, 0}, {f.Size / 3, f.Size/3 + 1}, {max(f.Size-1, 0), 9}, {f.Size, 0}} {
			want := whole[r[0]:]
			if r[1] > 0 {
				want = want[:min(r[1], len(want))]
			}
			got, err := opened(c.ReadRange(ctx, 0, id, uint64(r[0]), uint64(r[1])))
			if err != nil || string(got) != string(want) {
				t.Errorf("%s %v: %d bytes, want %d; error %v", f.FID, r, len(got), len(want), err)
			}
		}
	}
	wantClean(t, c)
}

// sumOf is the hash of objects that were seen before, one after the other.
func sumOf(seen map[string][]byte, parts []string) string {
	all := sha256.New()
	for _, part := range parts {
		_, _ = all.Write(seen[part])
	}
	return hex.EncodeToString(all.Sum(nil))
}

func TestARealEngineAnswersEveryOperation(t *testing.T) {
	socket, process := realEngine(t)
	c := attachReal(t, socket, Options{Name: "go test"})
	ctx := watchdog(t)
	if _, err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
	capabilities, err := c.Capabilities(ctx)
	if err != nil || capabilities.Version == "" || capabilities.Volumes == 0 {
		t.Errorf("%+v, error %v", capabilities, err)
	}
	_, err = c.Stat(ctx, 0, FileID{Volume: 99, Needle: 1})
	wantStatus(t, err, StatusVolumeNotFound)
	_, err = c.Stat(ctx, 0, FileID{Volume: 1, Needle: 1<<63 + 12345})
	wantStatus(t, err, StatusObjectNotFound)
	_, err = c.Connect(ctx, "no address")
	wantStatus(t, err, StatusInvalidAddress)
	if err := c.Disconnect(ctx, 77); err == nil {
		t.Error("a handle of nothing was disconnected")
	}
	if int(c.view.Header().EnginePID) != process.Pid {
		t.Errorf("the engine's pid is %d, the header says %d", process.Pid, c.view.Header().EnginePID)
	}
	wantClean(t, c)
}

func TestNoWakeUpIsLostBesideARealEngine(t *testing.T) {
	for _, mode := range []string{"event", "adaptive"} {
		socket, _ := realEngine(t, "--poll", mode)
		c := attachReal(t, socket, Options{SpinFor: -1})
		ctx := watchdog(t)
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				source := rand.New(rand.NewPCG(uint64(i), 5))
				for range 300 {
					if err := c.Nop(ctx); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Duration(source.IntN(200)) * time.Microsecond)
				}
			})
		}
		group.Wait()
		if s := c.Stats(); s.LateWakeups != 0 {
			t.Errorf("--poll %s: %d wake-ups were lost", mode, s.LateWakeups)
		}
	}
}

// stop freezes a process and waits until the last of its threads stands: on another processor one goes on for a while
// after the signal was sent.
func stop(t *testing.T, process *os.Process) {
	t.Helper()
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every thread stands", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process.Pid))
		if err != nil || len(threads) == 0 {
			t.Fatalf("the threads of %d: %v, %v", process.Pid, threads, err)
		}
		for _, thread := range threads {
			status, err := os.ReadFile(thread)
			if _, state, _ := bytes.Cut(status, []byte(") ")); err == nil && !bytes.HasPrefix(state, []byte("T")) {
				return false
			}
		}
		return true
	})
}

func TestAStoppedEngineDoesNotHoldTheCaller(t *testing.T) {
	socket, process := realEngine(t)
	c := attachReal(t, socket, Options{})
	if err := c.Nop(watchdog(t)); err != nil {
		t.Fatal(err)
	}
	stop(t, process)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	wantStatus(t, c.Nop(ctx), StatusDeadlineExceeded)
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the answer of the request that was given up comes", func() bool { return c.Stats().Outstanding == 0 })
	if err := c.Nop(watchdog(t)); err != nil {
		t.Fatal(err)
	}
}

func TestAKilledEngineFailsReadersWithARetryableStatus(t *testing.T) {
	socket, process := realEngine(t)
	c := attachReal(t, socket, Options{})
	id, err := ParseFileID(fixtures(t)[5].FID)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			for {
				if _, err := opened(c.ReadObject(context.Background(), 0, id)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	time.Sleep(20 * time.Millisecond)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, StatusEngineGone) {
			t.Errorf("error is %v", err)
		}
	}
	wantStatus(t, c.Err(), StatusEngineGone)
}

func TestTheRealEngineRefusesWhatItCannotGive(t *testing.T) {
	socket, _ := realEngine(t)
	_, err := Attach(watchdog(t), Options{Socket: socket, Channels: 4096, Depth: 4096, SegmentSize: 2 << 20})
	if err == nil {
		t.Fatal("attached")
	}
	var failed *Error
	if !errors.As(err, &failed) || failed.Field == "" || failed.Text == "" {
		t.Fatalf("error is %#v", err)
	}
}

// BenchmarkRealNop wants RDE_BIN_DIR; the engine polls on core 2.
func BenchmarkRealNop(b *testing.B) {
	benchmarkNop(b, func() *Client {
		socket, _ := realEngine(b, "--poll", "spin", "--cores", "1")
		return attachReal(b, socket, Options{SpinFor: time.Second})
	})
}
