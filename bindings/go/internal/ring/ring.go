// Package ring has the ends of the single-producer, single-consumer rings whose slots carry their own lap (docs/rings.md).
//
//	w, err := ring.NewWriter(memory, 64, layout.RequestSize, 0)
//	w.Write(words)                   // the other side, same memory:
//	r, err := ring.NewReader(memory, 64, layout.RequestSize, 0)
//	for r.Read(words) { handle(words) }
//
// One goroutine at a time uses an end; Ready alone may be called by any. No end knows how full the ring is: the credits of
// docs/rings.md keep the writer from overtaking the reader. Memory may be written by a hostile process at any time.
package ring

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

const wordSize = 8

// shape maps positions to slots and laps; unsigned, right at every wrap.
type shape struct {
	base  unsafe.Pointer // of the first slot; the mapping outlives the ring
	mask  uint64
	shift uint8
	words uint8 // of a slot
}

func newShape(memory []byte, slots uint32, slotSize int) (shape, error) {
	switch {
	case bits.OnesCount32(slots) != 1:
		return shape{}, fmt.Errorf("ring: slots = %d: want a power of two", slots)
	case slotSize != 32 && slotSize != 64:
		return shape{}, fmt.Errorf("ring: slot size = %d: want 32 or 64", slotSize)
	case uint64(len(memory)) < uint64(slots)*uint64(slotSize):
		return shape{}, fmt.Errorf("ring: memory of %d bytes cannot hold %d slots of %d", len(memory), slots, slotSize)
	}
	base := unsafe.Pointer(unsafe.SliceData(memory))
	if uintptr(base)%wordSize != 0 {
		return shape{}, fmt.Errorf("ring: memory is not aligned to %d bytes", wordSize)
	}
	return shape{base, uint64(slots) - 1, uint8(bits.TrailingZeros32(slots)), uint8(slotSize / wordSize)}, nil
}

func (s *shape) lap(position uint64) uint32 { return uint32(position>>s.shift) + 1 }

// word returns word i of the slot of a position.
func (s *shape) slot(position uint64) unsafe.Pointer {
	return unsafe.Add(s.base, (position&s.mask)*uint64(s.words)*wordSize)
}

func word(slot unsafe.Pointer, i int) *uint64 { return (*uint64)(unsafe.Add(slot, i*wordSize)) }

// Request and Completion are slots as whole words; word 0 has the lap in its low half.
type (
	Request    [8]uint64
	Completion [4]uint64
)

// RequestWriter is the client's end of the request ring.
type RequestWriter struct {
	shape
	position uint64
}

// NewRequestWriter starts at a position; a fresh segment has 0.
func NewRequestWriter(memory []byte, slots uint32, start uint64) (*RequestWriter, error) {
	s, err := newShape(memory, slots, len(Request{})*wordSize)
	return &RequestWriter{s, start}, err
}

// Write publishes a slot; the lap in it is ignored. It never blocks. What it stores last is a full fence too.
func (w *RequestWriter) Write(r *Request) {
	slot := w.slot(w.position)
	for i := 1; i < len(r); i++ {
		*word(slot, i) = r[i]
	}
	// SYNC POINT ring: pairs with the load in RequestReader.Read; the words above are visible first.
	atomic.StoreUint64(word(slot, 0), r[0]&^0xFFFFFFFF|uint64(w.lap(w.position)))
	w.position++
}

// Position counts the slots ever written.
func (w *RequestWriter) Position() uint64 { return w.position }

// RequestReader is the engine's end of the request ring.
type RequestReader struct {
	shape
	position uint64
}

// NewRequestReader starts at a position; a fresh segment has 0.
func NewRequestReader(memory []byte, slots uint32, start uint64) (*RequestReader, error) {
	s, err := newShape(memory, slots, len(Request{})*wordSize)
	return &RequestReader{s, start}, err
}

// Ready says whether Read would succeed.
func (r *RequestReader) Ready() bool {
	return uint32(atomic.LoadUint64(word(r.slot(r.position), 0))) == r.lap(r.position)
}

// Read copies the next slot, each word once; false when it is not there yet.
func (r *RequestReader) Read(to *Request) bool {
	slot := r.slot(r.position)
	to[0] = atomic.LoadUint64(word(slot, 0))
	if uint32(to[0]) != r.lap(r.position) {
		return false
	}
	for i := 1; i < len(to); i++ {
		to[i] = atomic.LoadUint64(word(slot, i))
	}
	r.position++
	return true
}

// CompletionWriter is the engine's end of the completion ring.
type CompletionWriter struct {
	shape
	position uint64
}

// NewCompletionWriter starts at a position; a fresh segment has 0.
func NewCompletionWriter(memory []byte, slots uint32, start uint64) (*CompletionWriter, error) {
	s, err := newShape(memory, slots, len(Completion{})*wordSize)
	return &CompletionWriter{s, start}, err
}

// Write publishes a slot; the lap in it is ignored.
func (w *CompletionWriter) Write(c *Completion) {
	slot := w.slot(w.position)
	for i := 1; i < len(c); i++ {
		*word(slot, i) = c[i]
	}
	atomic.StoreUint64(word(slot, 0), c[0]&^0xFFFFFFFF|uint64(w.lap(w.position)))
	w.position++
}

// CompletionReader is the client's end of the completion ring.
type CompletionReader struct {
	shape
	position atomic.Uint64 // written by who holds the channel, read by anyone in Ready
}

// NewCompletionReader starts at a position; a fresh segment has 0.
func NewCompletionReader(memory []byte, slots uint32, start uint64) (*CompletionReader, error) {
	s, err := newShape(memory, slots, len(Completion{})*wordSize)
	r := &CompletionReader{shape: s}
	r.position.Store(start)
	return r, err
}

// Ready says whether Read would succeed. Any goroutine may ask.
func (r *CompletionReader) Ready() bool {
	position := r.position.Load()
	return uint32(atomic.LoadUint64(word(r.slot(position), 0))) == r.lap(position)
}

// Read copies the next slot, each word once; false when it is not there yet.
func (r *CompletionReader) Read(to *Completion) bool {
	position := r.position.Load()
	slot := r.slot(position)
	// SYNC POINT ring: pairs with the store in CompletionWriter.Write.
	to[0] = atomic.LoadUint64(word(slot, 0))
	if uint32(to[0]) != r.lap(position) {
		return false
	}
	for i := 1; i < len(to); i++ {
		to[i] = atomic.LoadUint64(word(slot, i))
	}
	r.position.Store(position + 1)
	return true
}

// Position counts the slots ever read. Any goroutine may ask.
func (r *CompletionReader) Position() uint64 { return r.position.Load() }
