package enginetest

import (
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/crc"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

const line = 64

// Plan makes the header of a segment, as an engine would.
func Plan(o Options, clientNumber uint64) layout.SegmentHeader {
	h := layout.SegmentHeader{
		Magic: layout.Magic, EndianMark: layout.EndianMark, ABIMajor: layout.ABIMajor, ABIMinor: layout.ABIMinor,
		HeaderSize: layout.SegmentHeaderSize, PageSize: layout.ArenaPage, LayoutHash: layout.Hash,
		TotalSize: o.SegmentSize, Epoch: 7, ClientNumber: clientNumber,
		EnginePageOffset: layout.EnginePageOffset, ClientPageOffset: layout.ClientPageOffset,
		ShardCount: o.Shards, ChannelCount: o.Channels, Depth: o.Depth, CompletionDepth: o.Depth * layout.CompletionsPerRequest,
		CounterCount: 4, RecorderEvents: 16,
	}
	at := layout.ColouredOffset + clientNumber%layout.Colours*layout.ColourStep
	h.DoorbellsOffset = at
	at += (uint64(o.Shards) + 1) * layout.DoorbellSize
	h.ChannelsOffset = at
	bytes := layout.ChannelLinesSize + uint64(h.Depth)*layout.RequestSize + uint64(h.CompletionDepth)*layout.CompletionSize
	h.ChannelStride = (bytes/line | 1) * line
	at += h.ChannelStride * uint64(o.Channels)
	h.CountersOffset = at
	at += uint64(h.CounterCount) * layout.CounterSize
	h.RecorderOffset = at
	at += layout.RecorderHeadSize + uint64(h.RecorderEvents)*layout.RecorderEventSize
	h.ArenaOffset = (at + layout.ArenaPage - 1) &^ (layout.ArenaPage - 1)
	h.ArenaSize = h.TotalSize - h.ArenaOffset
	h.Ready = layout.Ready
	Seal(&h)
	return h
}

// Seal makes the CRC right again after a change.
func Seal(h *layout.SegmentHeader) {
	h.HeaderCRC = crc.Of(Bytes(h)[:layout.OffSegmentHeaderHeaderCRC])
}

// Bytes are the bytes of a struct of the layout, in place.
func Bytes[T any](t *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t)) }
