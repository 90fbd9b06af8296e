package integration

import (
	"errors"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"
	"testing"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

// startWithIPC runs an engine that also listens for clients of the older protocol.
func startWithIPC(t *testing.T, args ...string) (*harness.Engine, string) {
	t.Helper()
	socket := filepath.Join(harness.TempDir(t), "ipc.sock")
	return harness.StartEngine(t, append([]string{"--ipc-socket", socket}, args...)...), socket
}

func startRead(id rde.FileID, offset, size, timeout uint64) map[string]any {
	return map[string]any{"volume_id": id.Volume, "needle_id": id.Needle, "cookie": id.Cookie, "offset": offset, "size": size,
		"remote_addr": uint64(0), "remote_key": uint32(0), "timeout_secs": timeout}
}

func completeRead(session string, crc any) map[string]any {
	return map[string]any{"session_id": session, "success": true, "bytes_transferred": uint64(1), "client_crc": crc}
}

func fileID(t *testing.T, text string) rde.FileID {
	t.Helper()
	id, err := rde.ParseFileID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// stored reads an object's bytes over the rings, as they are stored.
func stored(t *testing.T, client *rde.Client, id rde.FileID) []byte {
	t.Helper()
	var all []byte
	for {
		buffer, info, err := client.Read(harness.Context(t), 0, id, uint64(len(all)), 256<<10)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, buffer.Bytes()...)
		buffer.Release()
		if info.End {
			return all
		}
	}
}

func TestEachRecordedFrameOfTheOlderClientIsAnswered(t *testing.T) {
	engine, socket := startWithIPC(t, "--export", harness.Data(t, "volumes"))
	older := harness.DialOlder(t, socket)
	frames := harness.RecordedFrames(t)
	want := map[string]string{
		"ping": "Pong", "ping without client id": "Pong",
		"capabilities": "GetCapabilitiesResponse", "capabilities without client id": "GetCapabilitiesResponse",
		"start read, largest values, no token": "Error", "complete read": "Error", "complete read, failed, no crc": "Error",
	}
	for note, kind := range want {
		if reply := older.AskFrame(frames[note]); reply.Type != kind {
			t.Errorf("%s: %+v, want %s\n%s", note, reply, kind, engine.Log())
		}
	}
	capabilities := older.AskFrame(frames["capabilities"])
	if len(capabilities.Fields) != 10 || capabilities.Number(3) != 1000 || capabilities.Number(4) != 0 {
		t.Errorf("%+v", capabilities)
	}
	if reply := older.AskFrame(frames["complete read"]); reply.Text(0) != "SessionNotFound" || len(reply.Fields) != 3 || reply.Text(2) != "session" {
		t.Errorf("%+v", reply)
	}
}

func checkOlderReads(t *testing.T, engine *harness.Engine, socket string) {
	t.Helper()
	dir := harness.Data(t, "volumes")
	client := harness.Attach(t, engine, rde.Options{})
	objects := harness.Objects(t, dir)
	awaitVolumes(t, client, objects)
	older := harness.DialOlder(t, socket)
	read := 0
	for _, object := range objects {
		id := fileID(t, object.FID)
		reply := older.Ask("StartRead", startRead(id, 0, 0, 30))
		if object.Expired || object.Missing {
			if reply.Text(0) != "InvalidRequest" || !strings.Contains(reply.Text(1), "object_not_found") {
				t.Errorf("%s is gone, but: %+v", object.FID, reply)
			}
			continue
		}
		bytes := stored(t, client, id)
		crc := crc32.Checksum(bytes, crc32.MakeTable(crc32.Castagnoli))
		if reply.Type != "StartReadResponse" || reply.Number(3) != uint64(len(bytes)) || reply.Number(4) != uint64(crc) {
			t.Errorf("%s: %+v; want %d bytes with %d", object.FID, reply, len(bytes), crc)
			continue
		}
		read++
		done := older.Ask("CompleteRead", completeRead(reply.Text(0), crc))
		if done.Type != "CompleteReadResponse" || done.Fields[0] != true || done.Number(1) != uint64(crc) {
			t.Errorf("%s: %+v", object.FID, done)
		}
		if len(bytes) > 8 {
			part := older.Ask("StartRead", startRead(id, 3, 5, 0))
			if part.Number(3) != 5 || part.Number(4) != uint64(crc32.Checksum(bytes[3:8], crc32.MakeTable(crc32.Castagnoli))) {
				t.Errorf("%s from 3: %+v", object.FID, part)
			}
			wrong := older.Ask("CompleteRead", completeRead(part.Text(0), crc+1))
			if wrong.Type != "CompleteReadResponse" || wrong.Fields[0] != false {
				t.Errorf("%s, another checksum: %+v", object.FID, wrong)
			}
		}
	}
	if read == 0 {
		t.Error("no object was read")
	}
	if reply := older.Ask("GetCapabilities", map[string]any{}); reply.Number(4) != 0 {
		t.Errorf("sessions are left open: %+v", reply)
	}
}

func TestTheOlderSocketReadsObjectsOfTheEnginesOwnExport(t *testing.T) {
	engine, socket := startWithIPC(t, "--export", harness.Data(t, "volumes"))
	checkOlderReads(t, engine, socket)
}

func TestTheOlderSocketReadsObjectsThroughTwoEngines(t *testing.T) {
	storage := harness.StartStorage(t, harness.Data(t, "volumes"))
	engine, socket := startWithIPC(t, "--transport", "tcp", "--peer", storage.Listen)
	checkOlderReads(t, engine, socket)
}

func TestWhatTheOlderSocketCannotDoIsSaid(t *testing.T) {
	_, socket := startWithIPC(t, "--export", harness.Data(t, "volumes"))
	older := harness.DialOlder(t, socket)
	id := fileID(t, harness.Objects(t, harness.Data(t, "volumes"))[0].FID)
	for _, row := range []struct {
		data       map[string]any
		code, text string
	}{
		{startRead(rde.FileID{Volume: 99, Needle: 1}, 0, 0, 0), "Io", "volume_not_found"},
		{startRead(id, 1<<40, 0, 0), "InvalidRequest", "offset_past_end"},
		{startRead(id, 0, 1<<33, 0), "InvalidRequest", "size = 8589934592"},
		{startRead(id, 0, 0, 86401), "InvalidRequest", "timeout_secs = 86401"},
	} {
		reply := older.Ask("StartRead", row.data)
		if reply.Type != "Error" || reply.Text(0) != row.code || !strings.Contains(reply.Text(1), row.text) {
			t.Errorf("%+v; want %s with %q", reply, row.code, row.text)
		}
	}
	if reply := older.Ask("GetCapabilities", map[string]any{}); reply.Number(4) != 0 {
		t.Errorf("sessions are left open: %+v", reply)
	}
}

func TestAnUnsafePathOfTheOlderSocketIsRefused(t *testing.T) {
	taken := harness.StartEngine(t)
	file := filepath.Join(harness.TempDir(t), "file")
	writeFile(t, file)
	for _, path := range []string{file, taken.Socket, "/nowhere/ipc.sock"} {
		engine := harness.Spawn(t, "rdma-engine", "--socket", filepath.Join(harness.TempDir(t), "attach.sock"), "--ipc-socket", path)
		if code := engine.Wait(); code != 2 && code != 3 {
			t.Errorf("%s: exit code %d", path, code)
		}
		if !strings.Contains(engine.Log(), "--ipc-socket") || !strings.Contains(engine.Log(), path) {
			t.Errorf("%s: %s", path, engine.Log())
		}
	}
}

func TestFramesThatNoClientSendsHarmNobody(t *testing.T) {
	engine, socket := startWithIPC(t, "--export", harness.Data(t, "volumes"))
	good := harness.DialOlder(t, socket)
	ping := harness.RecordedFrames(t)["ping"]
	if reply := good.AskFrame(ping); reply.Type != "Pong" {
		t.Fatalf("%+v", reply)
	}
	before := harness.Descriptors(t, engine.PID(), "socket:")
	for _, frame := range [][]byte{{0, 0, 0, 0}, {1, 0, 16, 0}, {0xFF, 0xFF, 0xFF, 0xFF}} {
		bad := harness.DialOlder(t, socket)
		if reply := bad.AskFrame(frame); reply.Text(0) != "IpcError" {
			t.Errorf("length % x: %+v", frame, reply)
		}
		if _, err := bad.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("length % x: %v; want the end", frame, err)
		}
	}
	garbage := harness.DialOlder(t, socket)
	if reply := garbage.AskFrame(harness.Frame(make([]byte, 1<<20))); reply.Text(0) != "SerializationError" {
		t.Errorf("%+v", reply)
	}
	for range 1000 {
		half := harness.DialOlder(t, socket)
		_, _ = half.Write(ping[:20])
		_ = half.Close()
	}
	_ = garbage.Close()
	if reply := good.AskFrame(ping); reply.Type != "Pong" {
		t.Errorf("%+v", reply)
	}
	harness.Eventually(t, "no connection is left", func() bool {
		return harness.Descriptors(t, engine.PID(), "socket:") <= before
	})
	// More at once than are let in: each is served, or told why not.
	var many []*harness.Older
	for range 300 {
		many = append(many, harness.DialOlder(t, socket))
	}
	served := 0
	for _, older := range many {
		_, _ = older.Write(ping)
		reply, err := older.Receive()
		if err != nil || (reply.Type != "Pong" && reply.Text(0) != "ResourceExhausted") {
			t.Fatalf("%+v, error %v", reply, err)
		}
		if reply.Type == "Pong" {
			served++
		}
	}
	if served != 255 {
		t.Errorf("%d of 300 were served beside the one before; want 255", served)
	}
	if code := engine.Terminate(); code != 0 {
		t.Errorf("exit code %d\n%s", code, engine.Log())
	}
}
