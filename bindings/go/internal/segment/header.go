package segment

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/crc"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Kinds of header errors; errors.Is tells them apart.
var (
	ErrInvalid  = errors.New("segment header does not hold together")
	ErrNotReady = errors.New("segment not initialised")
	ErrVersion  = errors.New("another layout")
)

const (
	line      = 64
	maxSize   = 1 << 43 // bytes of the largest segment
	maxEvents = 1 << 16
	hugePage  = 2 << 20
	minArena  = 16 * layout.ArenaPage
)

// ReadHeader copies the header out of a mapping once and checks the copy. It survives memory that faults.
func ReadHeader(memory []byte) (header layout.SegmentHeader, err error) {
	if len(memory) < layout.HeaderBytes || uintptr(unsafe.Pointer(unsafe.SliceData(memory)))%8 != 0 {
		return header, fmt.Errorf("%w: mapping of %d bytes is too small or misaligned", ErrInvalid, len(memory))
	}
	// A hole in hostile memory raises a fault; here, and only here, it becomes an error.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: reading it faulted: %v", ErrInvalid, fault)
		}
	}()
	ready := (*uint32)(unsafe.Pointer(&memory[layout.OffSegmentHeaderReady]))
	if word := atomic.LoadUint32(ready); word != layout.Ready {
		return header, fmt.Errorf("%w: ready = %#x, want %#x", ErrNotReady, word, uint32(layout.Ready))
	}
	private := unsafe.Slice((*byte)(unsafe.Pointer(&header)), layout.SegmentHeaderSize)
	copy(private, memory[:layout.SegmentHeaderSize])
	return header, Check(&header, uint64(len(memory)))
}

// Check says whether a copied header can be trusted for a mapping of so many bytes: constants, versions, CRC, and that the
// parts lie in the segment in their order, aligned, without overlap. No sum in it can overflow.
func Check(h *layout.SegmentHeader, mapped uint64) error {
	invalid := func(field string, value uint64, want string) error {
		return fmt.Errorf("%w: %s = %d: want %s", ErrInvalid, field, value, want)
	}
	switch {
	case h.Magic != layout.Magic:
		return invalid("magic", h.Magic, fmt.Sprint(uint64(layout.Magic)))
	case h.EndianMark != layout.EndianMark:
		return invalid("endian_mark", uint64(h.EndianMark), fmt.Sprint(layout.EndianMark))
	case h.ABIMajor != layout.ABIMajor || h.LayoutHash != layout.Hash:
		return fmt.Errorf("%w: the segment has ABI %d.%d with hash %#x, this client %d.%d with %#x; install one release on both sides",
			ErrVersion, h.ABIMajor, h.ABIMinor, h.LayoutHash, layout.ABIMajor, layout.ABIMinor, layout.Hash)
	case h.HeaderSize != layout.SegmentHeaderSize:
		return invalid("header_size", uint64(h.HeaderSize), fmt.Sprint(layout.SegmentHeaderSize))
	case h.Ready != layout.Ready:
		return fmt.Errorf("%w: ready = %#x", ErrNotReady, h.Ready)
	}
	covered := unsafe.Slice((*byte)(unsafe.Pointer(h)), layout.OffSegmentHeaderHeaderCRC)
	if sum := crc.Of(covered); sum != h.HeaderCRC {
		return invalid("header_crc", uint64(h.HeaderCRC), fmt.Sprint(sum))
	}
	if h.RequiredFeatures != 0 {
		return invalid("required_features", h.RequiredFeatures, "0: this client knows none; update it")
	}
	if h.Reserved != [len(h.Reserved)]uint8{} {
		return invalid("reserved", 1, "zeros")
	}
	if err := checkCounts(h, mapped); err != nil {
		return err
	}
	return checkParts(h)
}

func checkCounts(h *layout.SegmentHeader, mapped uint64) error {
	depth := uint64(h.Depth)
	for _, c := range []struct {
		field string
		value uint64
		good  bool
		want  string
	}{
		{"total_size", h.TotalSize, h.TotalSize == mapped && mapped >= layout.MinSegment && mapped <= maxSize, fmt.Sprintf("the %d bytes mapped, 2 MiB to 8 TiB", mapped)},
		{"page_size", uint64(h.PageSize), h.PageSize == layout.ArenaPage || h.PageSize == hugePage, "4096 or 2097152"},
		{"shard_count", uint64(h.ShardCount), h.ShardCount >= 1 && h.ShardCount <= layout.MaxShards, "1 to 16"},
		{"channel_count", uint64(h.ChannelCount), h.ChannelCount >= 1 && h.ChannelCount <= layout.MaxChannels, "1 to 4096"},
		{"depth", depth, bits.OnesCount64(depth) == 1 && depth >= layout.MinDepth && depth <= layout.MaxDepth, "a power of two, 2 to 4096"},
		{"completion_depth", uint64(h.CompletionDepth), uint64(h.CompletionDepth) == depth*layout.CompletionsPerRequest, "4 times depth"},
		{"counter_count", uint64(h.CounterCount), h.CounterCount <= maxEvents, "at most 65536"},
		{"recorder_events", uint64(h.RecorderEvents), bits.OnesCount32(h.RecorderEvents) == 1 && h.RecorderEvents <= maxEvents, "a power of two, at most 65536"},
		{"channel_stride", h.ChannelStride, h.ChannelStride >= channelBytes(h) && h.ChannelStride <= maxSize && h.ChannelStride%line == 0, fmt.Sprintf("at least %d, whole lines", channelBytes(h))},
	} {
		if !c.good {
			return fmt.Errorf("%w: %s = %d: want %s", ErrInvalid, c.field, c.value, c.want)
		}
	}
	return nil
}

func channelBytes(h *layout.SegmentHeader) uint64 {
	return layout.ChannelLinesSize + uint64(h.Depth)*layout.RequestSize + uint64(h.CompletionDepth)*layout.CompletionSize
}

// checkParts walks the offset table in its order. Counts and sizes are within their limits here, so that products fit.
func checkParts(h *layout.SegmentHeader) error {
	var end uint64
	for _, p := range []struct {
		field               string
		offset, size, align uint64
	}{
		{"header", 0, layout.HeaderBytes, line},
		{"engine_page_offset", h.EnginePageOffset, layout.EnginePageSize, line},
		{"client_page_offset", h.ClientPageOffset, layout.ClientPageSize, line},
		{"doorbells_offset", h.DoorbellsOffset, (uint64(h.ShardCount) + 1) * layout.DoorbellSize, line},
		{"channels_offset", h.ChannelsOffset, uint64(h.ChannelCount) * h.ChannelStride, line},
		{"counters_offset", h.CountersOffset, uint64(h.CounterCount) * layout.CounterSize, line},
		{"recorder_offset", h.RecorderOffset, layout.RecorderHeadSize + uint64(h.RecorderEvents)*layout.RecorderEventSize, line},
		{"arena_offset", h.ArenaOffset, h.ArenaSize, layout.ArenaPage},
	} {
		if p.offset < end || p.offset%p.align != 0 || p.offset > h.TotalSize || p.size > h.TotalSize-p.offset {
			return fmt.Errorf("%w: %s = %d with %d bytes: want a multiple of %d from %d to the segment's end at %d",
				ErrInvalid, p.field, p.offset, p.size, p.align, end, h.TotalSize)
		}
		end = p.offset + p.size
	}
	if h.ArenaSize < minArena || h.ArenaSize%layout.ArenaPage != 0 {
		return fmt.Errorf("%w: arena_size = %d: want whole pages of 4096, at least 16", ErrInvalid, h.ArenaSize)
	}
	return nil
}
