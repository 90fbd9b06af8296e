package harness

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Older is a client of the older socket protocol.
type Older struct {
	t *testing.T
	*net.UnixConn
}

// DialOlder connects to an engine's --ipc-socket.
func DialOlder(t *testing.T, socket string) *Older {
	t.Helper()
	var conn *net.UnixConn
	Eventually(t, "there is room in the queue of "+socket, func() (connected bool) {
		var err error
		conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil && !errors.Is(err, syscall.EAGAIN) {
			t.Fatal(err)
		}
		return err == nil
	})
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	return &Older{t: t, UnixConn: conn}
}

// Reply is an answer: its type and its fields in order.
type Reply struct {
	Type   string
	Fields []any
}

// Text is field i, which is a string.
func (r Reply) Text(i int) string {
	if i >= len(r.Fields) {
		return ""
	}
	text, _ := r.Fields[i].(string)
	return text
}

// Number is field i, which is an integer.
func (r Reply) Number(i int) uint64 {
	if i >= len(r.Fields) {
		return 0
	}
	n, _ := r.Fields[i].(uint64)
	return n
}

// Ask sends a message of a type, with its fields, and answers the reply.
func (o *Older) Ask(kind string, data map[string]any) Reply {
	o.t.Helper()
	return o.AskFrame(Frame(pack(nil, map[string]any{"type": kind, "data": data})))
}

// AskFrame sends a whole frame, and answers the reply.
func (o *Older) AskFrame(frame []byte) Reply {
	o.t.Helper()
	if _, err := o.Write(frame); err != nil {
		o.t.Fatal(err)
	}
	reply, err := o.Receive()
	if err != nil {
		o.t.Fatal(err)
	}
	return reply
}

// Receive takes the next reply; io.EOF once the engine has closed.
func (o *Older) Receive() (Reply, error) {
	var length [4]byte
	if _, err := io.ReadFull(o, length[:]); err != nil {
		return Reply{}, err
	}
	payload := make([]byte, binary.LittleEndian.Uint32(length[:]))
	if _, err := io.ReadFull(o, payload); err != nil {
		return Reply{}, err
	}
	value, rest := unpack(payload)
	pair, ok := value.([]any)
	if !ok || len(pair) != 2 || len(rest) != 0 {
		return Reply{}, fmt.Errorf("no reply: % x", payload)
	}
	kind, isText := pair[0].(string)
	fields, isList := pair[1].([]any)
	if !isText || !isList {
		return Reply{}, errors.New("no reply: want [type, [fields]]")
	}
	return Reply{Type: kind, Fields: fields}, nil
}

// Recorded is a frame that the older Go client sent.
type Recorded struct {
	Note  string `json:"note"`
	Frame string `json:"request_frame"`
}

// RecordedFrames are those of tests/data/ipc.jsonl, by what they are.
func RecordedFrames(t *testing.T) map[string][]byte {
	t.Helper()
	file, err := os.Open(filepath.Join(Root(t), "tests/data/ipc.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	frames := map[string][]byte{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var row Recorded
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if frames[row.Note], err = hex.DecodeString(row.Frame); err != nil {
			t.Fatal(err)
		}
	}
	return frames
}

// Frame puts the length in front of a payload.
func Frame(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}
