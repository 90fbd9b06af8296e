package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

func TestAKilledEngineStartsAgainAtTheSameSocket(t *testing.T) {
	dir := harness.Data(t, "volumes")
	socket := filepath.Join(harness.TempDir(t), "attach.sock")
	var last *rde.Client
	for round := range 10 {
		engine := harness.StartEngineAt(t, socket, "--export", dir)
		client := harness.Attach(t, engine, rde.Options{})
		if err := client.Nop(harness.Context(t)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if last != nil && last.Epoch() == client.Epoch() {
			t.Fatal("two lives of the engine have one epoch")
		}
		last = client
		engine.Kill()
		select {
		case <-client.Done():
		case <-time.After(harness.Patience):
			t.Fatal("the client did not notice that its engine is gone")
		}
		if err := client.Nop(harness.Context(t)); !errors.Is(err, rde.StatusEngineGone) {
			t.Fatalf("a call after the engine's death: %v; want engine_gone", err)
		}
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(socket), "*"))
	if err != nil || len(files) > 2 {
		t.Errorf("the socket's directory grew: %v %v", files, err)
	}
}

func TestReadsUnderWayAreAnsweredWhenTheEngineIsKilled(t *testing.T) {
	dir := harness.Data(t, "volumes")
	storage := harness.StartStorage(t, dir)
	gateway := harness.StartGateway(t, storage)
	client := harness.Attach(t, gateway, rde.Options{Channels: 2})
	objects := readable(harness.Objects(t, dir))
	awaitVolumes(t, client, objects)
	var answered, wrong atomic.Int64
	var readers sync.WaitGroup
	for range 16 {
		readers.Go(func() {
			for {
				for _, want := range objects {
					_, sum, err := readWhole(t, client, 0, want.FID)
					answered.Add(1)
					if err == nil && sum != want.SHA256 && want.SHA256 != "" {
						wrong.Add(1)
					}
					if errors.Is(err, rde.StatusEngineGone) || errors.Is(err, rde.StatusDetached) {
						return
					}
				}
			}
		})
	}
	harness.Eventually(t, "reads are under way", func() bool { return answered.Load() > 100 })
	gateway.Kill()
	ended := make(chan struct{})
	go func() { readers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(harness.Patience):
		t.Fatal("a reader was never answered")
	}
	if wrong.Load() != 0 {
		t.Errorf("%d reads gave wrong bytes", wrong.Load())
	}
}

func TestAPeerThatIsKilledAndComesBackIsReadAgain(t *testing.T) {
	dir := harness.Data(t, "volumes")
	want := harness.Objects(t, dir)[0]
	port := freePort(t)
	start := func() *harness.Engine {
		return harness.StartEngine(t, "--transport", "tcp", "--listen", "127.0.0.1:"+port, "--export", dir)
	}
	storage := start()
	gateway := harness.StartGateway(t, storage)
	client := harness.Attach(t, gateway, rde.Options{})
	awaitVolumes(t, client, []harness.Object{want})
	descriptors := 0
	for round := range 5 {
		checkObject(t, client, 0, want)
		if round == 1 {
			descriptors = harness.Descriptors(t, gateway.PID(), "")
		}
		storage.Kill()
		harness.Eventually(t, "a read says that the peer is gone", func() bool {
			_, _, err := readWhole(t, client, 0, want.FID)
			return errors.Is(err, rde.StatusPeerDown) || errors.Is(err, rde.StatusVolumeNotFound)
		})
		storage = start()
		harness.Eventually(t, "the volume is known again", func() bool {
			_, sum, err := readWhole(t, client, 0, want.FID)
			return err == nil && sum == want.SHA256
		})
	}
	if now := harness.Descriptors(t, gateway.PID(), ""); now > descriptors+4 {
		t.Errorf("the gateway's descriptors grew from %d to %d", descriptors, now)
	}
}

func TestAFrozenStorageEngineCostsADeadlineAndNoMore(t *testing.T) {
	dir := harness.Data(t, "volumes")
	want := harness.Objects(t, dir)[0]
	frozen := harness.StartStorage(t, dir)
	other := harness.StartStorage(t, harness.Data(t, "history/1-first"))
	gateway := harness.StartGateway(t, frozen, other)
	client := harness.Attach(t, gateway, rde.Options{Channels: 2})
	healthy := harness.Objects(t, harness.Data(t, "history/1-first"))[0]
	awaitVolumes(t, client, []harness.Object{want, healthy})
	checkObject(t, client, 0, want)
	frozen.Signal(syscall.SIGSTOP)
	id, _ := rde.ParseFileID(want.FID)
	_, _, err := client.Read(shortContext(t, 300*time.Millisecond), 0, id, 0, 4096)
	if err == nil {
		t.Fatal("a frozen peer answered")
	}
	checkObject(t, client, 0, healthy)
	frozen.Signal(syscall.SIGCONT)
	harness.Eventually(t, "the thawed peer serves again", func() bool {
		_, sum, err := readWhole(t, client, 0, want.FID)
		return err == nil && sum == want.SHA256
	})
}

func TestNothingIsLeftOfClientsThatWereKilled(t *testing.T) {
	dir := harness.Data(t, "volumes")
	engine := harness.StartEngine(t, "--export", dir)
	objects := objectsFile(t, readable(harness.Objects(t, dir)))
	client := harness.Attach(t, engine, rde.Options{})
	segments := harness.Mappings(t, engine.PID())
	descriptors := harness.Descriptors(t, engine.PID(), "")
	for range 5 {
		load := exec.Command(harness.Program(t, "ring-load"), "--socket", engine.Socket, "--producers", "2", "--mix", "nop=50,read=50",
			"--objects", objects, "--seconds", "60")
		if err := load.Start(); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "the load is attached", func() bool { return harness.Mappings(t, engine.PID()) > segments })
		time.Sleep(50 * time.Millisecond)
		if err := load.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = load.Wait()
		harness.Eventually(t, "the dead client's segment is gone", func() bool { return harness.Mappings(t, engine.PID()) == segments })
	}
	harness.Eventually(t, "its descriptors are gone", func() bool {
		return harness.Descriptors(t, engine.PID(), "") <= descriptors
	})
	checkObject(t, client, 0, harness.Objects(t, dir)[0])
}

func TestAStoppedClientHarmsNobody(t *testing.T) {
	dir := harness.Data(t, "volumes")
	engine := harness.StartEngine(t, "--export", dir)
	client := harness.Attach(t, engine, rde.Options{})
	load := exec.Command(harness.Program(t, "ring-load"), "--socket", engine.Socket, "--producers", "2", "--mix", "nop=100", "--seconds", "60")
	segments := harness.Mappings(t, engine.PID())
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = load.Process.Kill()
		_ = load.Wait()
	}()
	harness.Eventually(t, "the load is attached", func() bool { return harness.Mappings(t, engine.PID()) > segments })
	if err := load.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, object := range readable(harness.Objects(t, dir)) {
		checkObject(t, client, 0, object)
	}
	if harness.Mappings(t, engine.PID()) == segments {
		t.Error("a slow client was taken for a dead one")
	}
}

func TestTheEngineOwnsItsSignals(t *testing.T) {
	engine := harness.StartStorage(t, harness.Data(t, "volumes"))
	const faults = 1<<(uint(syscall.SIGHUP)-1) | 1<<(uint(syscall.SIGILL)-1) | 1<<(uint(syscall.SIGBUS)-1) |
		1<<(uint(syscall.SIGFPE)-1) | 1<<(uint(syscall.SIGSEGV)-1)
	if caught := harness.CaughtSignals(t, engine.PID()); caught&faults != 0 {
		t.Errorf("somebody has handlers for signals of ours: %x", caught&faults)
	}
	engine.Signal(syscall.SIGHUP)
	client := harness.Attach(t, engine, rde.Options{})
	if err := client.Nop(harness.Context(t)); err != nil {
		t.Errorf("after SIGHUP: %v", err)
	}
}

func TestNoDescriptorOutlivesAnExec(t *testing.T) {
	storage := harness.StartStorage(t, harness.Data(t, "volumes"))
	gateway := harness.StartGateway(t, storage)
	client := harness.Attach(t, gateway, rde.Options{})
	awaitVolumes(t, client, harness.Objects(t, harness.Data(t, "volumes"))[:1])
	for _, engine := range []*harness.Engine{storage, gateway} {
		infos, err := filepath.Glob("/proc/" + itoa(engine.PID()) + "/fdinfo/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			number := filepath.Base(info)
			text, err := os.ReadFile(info)
			if err != nil || number == "0" || number == "1" || number == "2" {
				continue
			}
			if !closesOnExec(string(text)) {
				link, _ := os.Readlink(filepath.Join("/proc", itoa(engine.PID()), "fd", number))
				t.Errorf("descriptor %s (%s) would outlive an exec", number, link)
			}
		}
	}
}

func closesOnExec(fdinfo string) bool {
	for _, line := range strings.Split(fdinfo, "\n") {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			const closeOnExec = 0o2000000
			return octal(strings.TrimSpace(flags))&closeOnExec != 0
		}
	}
	return false
}
