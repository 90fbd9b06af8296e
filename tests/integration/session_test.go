package integration

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

func activeSessions(t *testing.T, client *rde.Client) uint64 {
	t.Helper()
	known, err := client.Capabilities(harness.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return known.ActiveSessions
}

func TestASessionOnTheRingsChecksWhatItsReadsDelivered(t *testing.T) {
	dir := harness.Data(t, "volumes")
	storage := harness.StartStorage(t, dir)
	gateway := harness.StartGateway(t, storage)
	client := harness.Attach(t, gateway, rde.Options{})
	objects := readable(harness.Objects(t, dir))
	awaitVolumes(t, client, objects)
	peer, err := client.Connect(harness.Context(t), storage.Listen)
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.OpenSession(harness.Context(t), rde.SessionOptions{Peer: peer, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var crc uint32
	total := 0
	for _, object := range objects {
		if object.Expired || object.Missing {
			continue
		}
		buffer, info, err := session.Read(harness.Context(t), fileID(t, object.FID), 0, 64<<10)
		if err != nil {
			t.Fatalf("%s: %v", object.FID, err)
		}
		crc = crc32.Update(crc, crc32.MakeTable(crc32.Castagnoli), buffer.Bytes())
		total += info.Bytes
		buffer.Release()
	}
	result, err := session.Close(harness.Context(t), rde.SessionReport{Bytes: uint64(total), CRC: &crc})
	if err != nil || result.CRC != crc || result.Bytes != uint64(total) || total == 0 {
		t.Fatalf("%+v, error %v; want %d bytes with %d", result, err, total, crc)
	}
	if _, err := session.Close(harness.Context(t), rde.SessionReport{}); !errors.Is(err, rde.StatusStaleHandle) {
		t.Errorf("closed twice: %v", err)
	}
}

func TestTheCapHoldsOverRingsAndOlderSocket(t *testing.T) {
	dir := harness.Data(t, "volumes")
	args := []string{"--export", dir, "--max-sessions", "3"}
	if runtime.NumCPU() > 1 {
		args = append(args, "--cores", "0,1")
	}
	engine, socket := startWithIPC(t, args...)
	first := harness.Attach(t, engine, rde.Options{})
	second := harness.Attach(t, engine, rde.Options{}) // of another shard
	older := harness.DialOlder(t, socket)
	object := fileID(t, harness.Objects(t, dir)[0].FID)
	one, err := first.OpenSession(harness.Context(t), rde.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := second.OpenSession(harness.Context(t), rde.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	three := older.Ask("StartRead", startRead(object, 0, 0, 0))
	if three.Type != "StartReadResponse" {
		t.Fatalf("%+v", three)
	}
	if _, err := first.OpenSession(harness.Context(t), rde.SessionOptions{}); !errors.Is(err, rde.StatusTooManySessions) {
		t.Errorf("a fourth on the rings: %v", err)
	}
	if reply := older.Ask("StartRead", startRead(object, 0, 0, 0)); reply.Text(0) != "TooManySessions" {
		t.Errorf("a fourth on the socket: %+v", reply)
	}
	known, err := first.Capabilities(harness.Context(t))
	if err != nil || known.MaxSessions != 3 || known.ActiveSessions != 3 || known.SessionTimeout != 300*time.Second {
		t.Errorf("%+v, error %v", known, err)
	}
	if reply := older.Ask("GetCapabilities", map[string]any{}); reply.Number(3) != 3 || reply.Number(4) != 3 {
		t.Errorf("%+v", reply)
	}
	if _, err := one.Close(harness.Context(t), rde.SessionReport{}); err != nil {
		t.Error(err)
	}
	if reply := older.Ask("StartRead", startRead(object, 0, 0, 0)); reply.Type != "StartReadResponse" {
		t.Errorf("there is room, but: %+v", reply)
	}
	if _, err := two.Close(harness.Context(t), rde.SessionReport{Failed: true}); err != nil {
		t.Error(err)
	}
	_ = older.Close()
	harness.Eventually(t, "the sessions of the connection are ended", func() bool { return activeSessions(t, first) == 0 })
}

func TestASessionExpiresAtBothDoors(t *testing.T) {
	dir := harness.Data(t, "volumes")
	engine, socket := startWithIPC(t, "--export", dir, "--session-timeout", "1")
	client := harness.Attach(t, engine, rde.Options{})
	older := harness.DialOlder(t, socket)
	object := fileID(t, harness.Objects(t, dir)[0].FID)
	session, err := client.OpenSession(harness.Context(t), rde.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	started := older.Ask("StartRead", startRead(object, 0, 0, 0))
	if left := int64(started.Number(5)) - time.Now().UnixNano(); started.Type != "StartReadResponse" || left > int64(time.Second) {
		t.Fatalf("%+v", started)
	}
	harness.Eventually(t, "both have expired", func() bool { return activeSessions(t, client) == 0 })
	if _, _, err := session.Read(harness.Context(t), object, 0, 10); !errors.Is(err, rde.StatusSessionExpired) {
		t.Errorf("a read: %v", err)
	}
	if _, err := session.Close(harness.Context(t), rde.SessionReport{}); !errors.Is(err, rde.StatusSessionExpired) {
		t.Errorf("a close: %v", err)
	}
	reply := older.Ask("CompleteRead", completeRead(started.Text(0), nil))
	if reply.Type != "Error" || reply.Text(0) != "SessionExpired" || reply.Text(2) != "session" {
		t.Errorf("%+v", reply)
	}
}

// TestHelperHoldsSessions is the life of a client that is killed.
func TestHelperHoldsSessions(t *testing.T) {
	attach, socket, fid := os.Getenv("RDE_HOLD_ATTACH"), os.Getenv("RDE_HOLD_IPC"), os.Getenv("RDE_HOLD_FID")
	if attach == "" {
		t.Skip("for the test below alone")
	}
	client, err := rde.Attach(harness.Context(t), rde.Options{Socket: attach})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := client.OpenSession(harness.Context(t), rde.SessionOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	older := harness.DialOlder(t, socket)
	for range 100 {
		if reply := older.Ask("StartRead", startRead(fileID(t, fid), 0, 0, 0)); reply.Type != "StartReadResponse" {
			t.Fatalf("%+v", reply)
		}
	}
	fmt.Println("holding")
	time.Sleep(2 * harness.Patience)
}

func TestTheSessionsOfAKilledClientAreEnded(t *testing.T) {
	dir := harness.Data(t, "volumes")
	engine, socket := startWithIPC(t, "--export", dir)
	client := harness.Attach(t, engine, rde.Options{})
	kept, err := client.OpenSession(harness.Context(t), rde.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(os.Args[0], "-test.run=TestHelperHoldsSessions", "-test.v")
	holder.Env = append(os.Environ(), "RDE_HOLD_ATTACH="+engine.Socket, "RDE_HOLD_IPC="+socket,
		"RDE_HOLD_FID="+harness.Objects(t, dir)[0].FID)
	var said strings.Builder
	holder.Stdout, holder.Stderr = &said, &said
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill() })
	harness.Eventually(t, "201 sessions are open", func() bool { return activeSessions(t, client) == 201 })
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	harness.Eventually(t, "one session is left", func() bool { return activeSessions(t, client) == 1 })
	if _, err := kept.Close(harness.Context(t), rde.SessionReport{}); err != nil {
		t.Error(err)
	}
}
