package rde

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// attachFails attaches where it must fail, and gives the error.
func attachFails(t *testing.T, e *enginetest.Engine) *Error {
	t.Helper()
	c, err := Attach(watchdog(t), Options{Socket: e.Socket})
	if err == nil {
		_ = c.Close()
		t.Fatal("attached")
	}
	var failed *Error
	if !errors.As(err, &failed) || failed.Op != "attach" {
		t.Fatalf("error is %#v", err)
	}
	return failed
}

func TestARefusalSaysWhatTheEngineSaid(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{Hello: func(h *layout.AttachHello) *layout.AttachRefused {
		if h.Channels != 7 {
			return nil
		}
		r := &layout.AttachRefused{Magic: layout.AttachMagic, Type: layout.AttachTypeRefused, Size: layout.AttachRefusedSize, Status: 702}
		copy(r.Field[:], "channels")
		copy(r.Text[:], "7 is too many; ask for 2")
		return r
	}})
	_, err := Attach(watchdog(t), Options{Socket: e.Socket, Channels: 7})
	wantStatus(t, err, StatusResourceExhausted)
	if !strings.Contains(err.Error(), "channels: 7 is too many; ask for 2") {
		t.Fatalf("text is %q", err)
	}
}

func TestTheHelloSaysWhatWasAskedFor(t *testing.T) {
	var got layout.AttachHello
	e := enginetest.Start(t, enginetest.Options{Hello: func(h *layout.AttachHello) *layout.AttachRefused { got = *h; return nil }})
	attachTo(t, e, Options{Channels: 2, Depth: 16, SegmentSize: 4 << 20, Name: "a name that is longer than thirty-one bytes"})
	want := layout.AttachHello{Magic: layout.AttachMagic, Type: layout.AttachTypeHello, Size: 128, EndianMark: layout.EndianMark,
		ABIMajor: layout.ABIMajor, LayoutHash: layout.Hash, HeaderSize: 256, RequestSize: 64, CompletionSize: 32,
		PageSize: uint32(os.Getpagesize()), SegmentSize: 4 << 20, Channels: 2, Depth: 16, Role: layout.RoleClient}
	copy(want.Name[:31], "a name that is longer than thirty-one bytes")
	if got != want {
		t.Fatalf("hello is %+v, want %+v", got, want)
	}
}

func TestOptionsThatCannotBeAreRefusedByField(t *testing.T) {
	for field, o := range map[string]Options{
		"channels":     {Channels: 4097},
		"depth":        {Depth: 3},
		"segment_size": {SegmentSize: 4096},
		"socket":       {Socket: "/" + strings.Repeat("x", 120)},
	} {
		_, err := Attach(watchdog(t), o)
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error is %v", field, err)
		}
	}
}

func TestAWelcomeThatIsWrongIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *layout.AttachWelcome)
		want   Status
	}{
		"magic":         {func(w *layout.AttachWelcome) { w.Magic++ }, StatusEngineBroken},
		"type":          {func(w *layout.AttachWelcome) { w.Type = layout.AttachTypeAttached }, StatusEngineBroken},
		"size":          {func(w *layout.AttachWelcome) { w.Size-- }, StatusEngineBroken},
		"hash":          {func(w *layout.AttachWelcome) { w.LayoutHash++ }, StatusVersionMismatch},
		"ABI":           {func(w *layout.AttachWelcome) { w.ABIMajor++ }, StatusVersionMismatch},
		"descriptors":   {func(w *layout.AttachWelcome) { w.Descriptors++ }, StatusEngineBroken},
		"total_size":    {func(w *layout.AttachWelcome) { w.TotalSize *= 2 }, StatusSegmentInvalid},
		"epoch":         {func(w *layout.AttachWelcome) { w.Epoch++ }, StatusSegmentInvalid},
		"client_number": {func(w *layout.AttachWelcome) { w.ClientNumber++ }, StatusSegmentInvalid},
	} {
		e := enginetest.Start(t, enginetest.Options{Welcome: c.change})
		if err := attachFails(t, e); err.Status != c.want || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
	}
}

func TestASegmentThatIsWrongIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *layout.SegmentHeader)
		want   Status
	}{
		"ready":           {func(h *layout.SegmentHeader) { h.Ready = 0 }, StatusSegmentNotReady},
		"magic":           {func(h *layout.SegmentHeader) { h.Magic = 0 }, StatusSegmentInvalid},
		"header_crc":      {func(h *layout.SegmentHeader) { h.HeaderCRC++ }, StatusSegmentInvalid},
		"channels_offset": {func(h *layout.SegmentHeader) { h.ChannelsOffset = 1 << 63; enginetest.Seal(h) }, StatusSegmentInvalid},
		"shard_count":     {func(h *layout.SegmentHeader) { h.ShardCount = 16; enginetest.Seal(h) }, StatusSegmentInvalid},
	} {
		e := enginetest.Start(t, enginetest.Options{Header: c.change})
		if err := attachFails(t, e); err.Status != c.want {
			t.Errorf("%s: error is %v, want %s", name, err, c.want)
		}
	}
}

func TestAnUnsealedSegmentIsRefused(t *testing.T) {
	if err := attachFails(t, enginetest.Start(t, enginetest.Options{Unsealed: true})); err.Status != StatusSegmentInvalid {
		t.Fatalf("error is %v", err)
	}
}

func TestMissingDescriptorsAreRefused(t *testing.T) {
	for n := 1; n <= 2; n++ {
		if err := attachFails(t, enginetest.Start(t, enginetest.Options{Descriptors: n})); err.Status != StatusEngineBroken {
			t.Errorf("%d descriptors: error is %v", n, err)
		}
	}
}

func TestAChannelOfNoShardIsRefused(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{Memory: func(memory []byte) {
		h := enginetest.Plan(enginetest.Options{Channels: 2, Depth: 16, Shards: 1, SegmentSize: 4 << 20}, 1)
		memory[h.ChannelsOffset+layout.OffChannelLinesShard] = 1
	}})
	if err := attachFails(t, e); err.Status != StatusSegmentInvalid || err.Field != "channel_lines.shard" {
		t.Fatalf("error is %v", err)
	}
}

func TestAnEngineThatHangsUpDuringTheAttachIsGone(t *testing.T) {
	for _, at := range []uint16{layout.AttachTypeWelcome, layout.AttachTypeAttached} {
		if err := attachFails(t, enginetest.Start(t, enginetest.Options{HangUp: at})); err.Status != StatusEngineGone {
			t.Errorf("message %d: error is %v", at, err)
		}
	}
}

func TestASilentEngineEndsWithTheContext(t *testing.T) {
	for _, at := range []uint16{layout.AttachTypeWelcome, layout.AttachTypeAttached} {
		e := enginetest.Start(t, enginetest.Options{Silent: at})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := Attach(ctx, Options{Socket: e.Socket})
		cancel()
		wantStatus(t, err, StatusDeadlineExceeded)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("message %d: error is %v", at, err)
		}
	}
}

func TestNoEngineIsASystemErrorThatNamesTheSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.sock")
	_, err := Attach(watchdog(t), Options{Socket: path})
	wantStatus(t, err, StatusSystemError)
	if !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), path) {
		t.Fatalf("error is %v", err)
	}
}

func TestAttachingLeavesNoDescriptorAndNoMappingBehind(t *testing.T) {
	good := enginetest.Start(t, enginetest.Options{})
	bad := enginetest.Start(t, enginetest.Options{Header: func(h *layout.SegmentHeader) { h.Magic = 0 }})
	attachTo(t, good, Options{}) // what the runtime opens once
	settle := func() int { good.Kill(); time.Sleep(20 * time.Millisecond); return descriptors(t) }
	before := settle()
	for range 50 {
		c, err := Attach(watchdog(t), Options{Socket: good.Socket})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Nop(watchdog(t)); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		attachFails(t, bad)
	}
	for end := time.Now().Add(20 * time.Second); settle() > before; {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, %d before", descriptors(t), before)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd")
	}
	return len(list)
}

func TestAllDescriptorsAreCloseOnExec(t *testing.T) {
	attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd")
	}
	for _, entry := range list {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || !strings.Contains(target, "socket:") && !strings.Contains(target, "memfd:") && !strings.Contains(target, "eventfd") {
			continue
		}
		info, err := os.ReadFile("/proc/self/fdinfo/" + entry.Name())
		if err != nil {
			continue
		}
		_, flags, _ := strings.Cut(string(info), "flags:\t0")
		flags, _, _ = strings.Cut(flags, "\n")
		if len(flags) < 7 || flags[0] != '2' { // 02000000 is O_CLOEXEC
			t.Errorf("%s has flags %q", target, flags)
		}
	}
}

// Whatever bytes come as a message, attaching ends with an error.
func FuzzAttachMessages(f *testing.F) {
	f.Add([]byte("RDEA"), []byte{})
	f.Add(make([]byte, 128), make([]byte, 16))
	f.Add(make([]byte, 320), make([]byte, 5000))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		path := filepath.Join(t.TempDir(), "s")
		listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
		if err != nil {
			t.Skip(err)
		}
		defer func() { _ = listener.Close() }()
		go func() {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			null, err := os.Open(os.DevNull)
			if err != nil {
				return
			}
			defer func() { _ = null.Close() }()
			rights := unix.UnixRights(int(null.Fd()), int(null.Fd()), int(null.Fd()))
			_, _, _ = conn.WriteMsgUnix(first, rights, nil)
			_, _ = conn.Write(second)
		}()
		c, err := Attach(watchdog(t), Options{Socket: path})
		if err == nil {
			_ = c.Close()
			t.Fatal("attached to noise")
		}
	})
}
