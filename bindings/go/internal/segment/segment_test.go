package segment_test

import (
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/segment"
)

const size = 2 << 20

func plan() layout.SegmentHeader {
	return enginetest.Plan(enginetest.Options{Channels: 2, Depth: 16, Shards: 1, SegmentSize: size}, 3)
}

func TestAGoodHeaderIsAccepted(t *testing.T) {
	memory := make([]byte, size)
	header := plan()
	copy(memory, enginetest.Bytes(&header))
	got, err := segment.ReadHeader(memory)
	if err != nil || got != header {
		t.Fatalf("header %+v, error %v", got, err)
	}
}

// Every field is set to every kind of wrong value, with a CRC that is right: an error that names the field, or a header that
// leads nowhere outside the segment.
func TestNoFieldLeadsOutOfTheSegment(t *testing.T) {
	good := plan()
	fields := reflect.TypeFor[layout.SegmentHeader]()
	refused := 0
	for i := range fields.NumField() {
		field := fields.Field(i)
		if field.Name == "Reserved" || field.Name == "HeaderCRC" {
			continue
		}
		was := reflect.ValueOf(good).Field(i).Uint()
		for _, value := range []uint64{0, 1, 63, was - 1, was + 1, was + 8, was * 2, size, size - 1, size - 4096, 1 << 31, 1<<32 - 1, 1 << 32, 1<<43 + 4096, 1 << 63, math.MaxUint64 - 4095, math.MaxUint64 - 63, math.MaxUint64} {
			header := good
			reflect.ValueOf(&header).Elem().Field(i).SetUint(value) // truncates as the field does
			enginetest.Seal(&header)
			if err := segment.Check(&header, size); err != nil {
				refused++
				continue
			}
			touchEverything(t, header)
		}
	}
	if refused < 200 {
		t.Fatalf("only %d headers were refused", refused)
	}
}

// touchEverything would fault, or fail, where a part lay outside.
func touchEverything(t *testing.T, header layout.SegmentHeader) {
	t.Helper()
	memory := make([]byte, size)
	v, err := segment.NewView(memory, header)
	if err != nil {
		t.Fatal(err)
	}
	for i := range header.ChannelCount {
		if _, _, _, err := v.Channel(i); err != nil {
			t.Fatalf("channel %d of an accepted header: %v", i, err)
		}
	}
	for i := range header.ShardCount + 1 {
		if _, err := v.Doorbell(i); err != nil {
			t.Fatalf("doorbell %d of an accepted header: %v", i, err)
		}
	}
	if _, err := v.ClientPage(); err != nil {
		t.Fatal(err)
	}
	if arena := v.Arena(); uint64(len(arena)) != header.ArenaSize {
		t.Fatalf("arena of %d bytes", len(arena))
	}
}

func TestHeaderErrorsNameTheField(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *layout.SegmentHeader)
		kind   error
	}{
		"magic":             {func(h *layout.SegmentHeader) { h.Magic++ }, segment.ErrInvalid},
		"endian_mark":       {func(h *layout.SegmentHeader) { h.EndianMark = 0x04030201 }, segment.ErrInvalid},
		"ABI 2":             {func(h *layout.SegmentHeader) { h.ABIMajor++ }, segment.ErrVersion},
		"hash":              {func(h *layout.SegmentHeader) { h.LayoutHash++ }, segment.ErrVersion},
		"ready":             {func(h *layout.SegmentHeader) { h.Ready = 0 }, segment.ErrNotReady},
		"header_size":       {func(h *layout.SegmentHeader) { h.HeaderSize++ }, segment.ErrInvalid},
		"required_features": {func(h *layout.SegmentHeader) { h.RequiredFeatures = 4 }, segment.ErrInvalid},
		"reserved":          {func(h *layout.SegmentHeader) { h.Reserved[71] = 1 }, segment.ErrInvalid},
		"total_size":        {func(h *layout.SegmentHeader) { h.TotalSize += 4096 }, segment.ErrInvalid},
		"depth":             {func(h *layout.SegmentHeader) { h.Depth = 17 }, segment.ErrInvalid},
		"completion_depth":  {func(h *layout.SegmentHeader) { h.CompletionDepth *= 2 }, segment.ErrInvalid},
		"channel_stride":    {func(h *layout.SegmentHeader) { h.ChannelStride -= 128 }, segment.ErrInvalid},
		"channels_offset":   {func(h *layout.SegmentHeader) { h.ChannelsOffset -= 64 }, segment.ErrInvalid},
		"arena_offset":      {func(h *layout.SegmentHeader) { h.ArenaOffset += 64 }, segment.ErrInvalid},
		"arena_size":        {func(h *layout.SegmentHeader) { h.ArenaSize = 4096 }, segment.ErrInvalid},
	} {
		header := plan()
		c.change(&header)
		enginetest.Seal(&header)
		err := segment.Check(&header, size)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestABadCRCIsRefused(t *testing.T) {
	header := plan()
	header.Epoch++
	if err := segment.Check(&header, size); !errors.Is(err, segment.ErrInvalid) || !strings.Contains(err.Error(), "header_crc") {
		t.Fatalf("error is %v", err)
	}
}

func TestAFaultWhileTheHeaderIsReadIsAnError(t *testing.T) {
	fd, err := unix.MemfdCreate("empty", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED) // of a file without a byte
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	if _, err := segment.ReadHeader(memory); !errors.Is(err, segment.ErrInvalid) || !strings.Contains(err.Error(), "faulted") {
		t.Fatalf("error is %v", err)
	}
}

func TestShortOrMisalignedMemoryIsRefused(t *testing.T) {
	memory := make([]byte, size+16)
	for _, b := range [][]byte{nil, memory[:100], memory[:4095], memory[1:], memory[4:]} {
		if _, err := segment.ReadHeader(b); !errors.Is(err, segment.ErrInvalid) {
			t.Errorf("%d bytes: error is %v", len(b), err)
		}
	}
}

func TestAnOverlayIsCheckedNotTrusted(t *testing.T) {
	words := make([]uint64, 8)
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 64)
	if _, err := segment.Overlay[layout.EnginePage](memory, 0); err != nil {
		t.Fatal(err)
	}
	for offset := uint64(1); offset < 16; offset++ {
		if _, err := segment.Overlay[uint64](memory, offset); (err == nil) != (offset%8 == 0) {
			t.Errorf("offset %d: error is %v", offset, err)
		}
	}
	for _, offset := range []uint64{57, 64, 65, 1 << 63, math.MaxUint64, math.MaxUint64 - 7} {
		if _, err := segment.Overlay[uint64](memory, offset); err == nil {
			t.Errorf("offset %#x was accepted", offset)
		}
	}
}

func TestOnlyASealedDescriptorIsMapped(t *testing.T) {
	fd, err := unix.MemfdCreate("sealed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := segment.Map(fd, size); !errors.Is(err, segment.ErrInvalid) || !strings.Contains(err.Error(), "seals") {
		t.Fatalf("unsealed: error is %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []uint64{0, 4096, size - 1, size + 4096, 1 << 44, math.MaxUint64} {
		if _, err := segment.Map(fd, wrong); !errors.Is(err, segment.ErrInvalid) {
			t.Errorf("size %d: error is %v", wrong, err)
		}
	}
	memory, err := segment.Map(fd, size)
	if err != nil {
		t.Fatal(err)
	}
	if err := segment.Unmap(memory); err != nil {
		t.Fatal(err)
	}
}

func TestTheMappingIsNotInherited(t *testing.T) {
	fd, err := unix.MemfdCreate("rde-dontfork", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		t.Fatal(err)
	}
	memory, err := segment.Map(fd, size)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = segment.Unmap(memory) }()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip("no /proc/self/smaps")
	}
	_, after, found := strings.Cut(string(maps), "rde-dontfork")
	if !found {
		t.Fatal("the mapping is not listed")
	}
	_, flags, _ := strings.Cut(after, "VmFlags:")
	flags, _, _ = strings.Cut(flags, "\n")
	if !strings.Contains(flags, " dc") {
		t.Fatalf("VmFlags are %q: want dc, do not copy on fork", flags)
	}
}
