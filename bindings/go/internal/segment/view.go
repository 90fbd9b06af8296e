// Package segment maps a segment and gives typed access to its parts.
//
//	header, err := segment.ReadHeader(memory)        // copied and checked
//	view, err := segment.NewView(memory, header)
//	lines := view.Channel(0)
//
// Memory comes as a byte slice, so tests run on the heap.
package segment

import (
	"fmt"
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// View finds the parts of a segment. Pointers are good as long as the memory is mapped.
type View struct {
	memory []byte
	header layout.SegmentHeader
}

// NewView takes a header that Check accepted for exactly this memory.
func NewView(memory []byte, header layout.SegmentHeader) (*View, error) {
	if header.TotalSize != uint64(len(memory)) {
		return nil, fmt.Errorf("%w: total_size = %d: want the %d bytes mapped", ErrInvalid, header.TotalSize, len(memory))
	}
	return &View{memory, header}, nil
}

// Overlay is a pointer to a T at an offset; an error where it is misaligned or does not lie in the memory.
func Overlay[T any](memory []byte, offset uint64) (*T, error) {
	var t T
	size, length := uint64(unsafe.Sizeof(t)), uint64(len(memory))
	if offset > length || size == 0 || size > length-offset {
		return nil, fmt.Errorf("%w: %T at %d does not lie in %d bytes", ErrInvalid, t, offset, length)
	}
	at := unsafe.Pointer(&memory[offset])
	if uintptr(at)%8 != 0 {
		return nil, fmt.Errorf("%w: %T at %d is not aligned to 8 bytes", ErrInvalid, t, offset)
	}
	return (*T)(at), nil
}

// Header is the private copy.
func (v *View) Header() *layout.SegmentHeader { return &v.header }

// EnginePage has the words of the engine.
func (v *View) EnginePage() (*layout.EnginePage, error) {
	return Overlay[layout.EnginePage](v.memory, v.header.EnginePageOffset)
}

// ClientPage has the words of the client.
func (v *View) ClientPage() (*layout.ClientPage, error) {
	return Overlay[layout.ClientPage](v.memory, v.header.ClientPageOffset)
}

// Doorbell of a shard; index ShardCount is the client's.
func (v *View) Doorbell(index uint32) (*layout.Doorbell, error) {
	return Overlay[layout.Doorbell](v.memory, v.header.DoorbellsOffset+uint64(index)*layout.DoorbellSize)
}

// Channel gives a channel's lines and the memory of its two rings.
func (v *View) Channel(index uint32) (lines *layout.ChannelLines, requests, completions []byte, err error) {
	start := v.header.ChannelsOffset + uint64(index)*v.header.ChannelStride
	lines, err = Overlay[layout.ChannelLines](v.memory, start)
	if err != nil {
		return nil, nil, nil, err
	}
	at := start + layout.ChannelLinesSize
	middle := at + uint64(v.header.Depth)*layout.RequestSize
	end := middle + uint64(v.header.CompletionDepth)*layout.CompletionSize
	return lines, v.memory[at:middle:middle], v.memory[middle:end:end], nil
}

// Arena has the data buffers.
func (v *View) Arena() []byte {
	end := v.header.ArenaOffset + v.header.ArenaSize
	return v.memory[v.header.ArenaOffset:end:end]
}
