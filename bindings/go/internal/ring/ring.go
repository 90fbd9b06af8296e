// Package ring has the ends of the single-producer, single-consumer rings whose slots carry their own lap (docs/rings.md).
//
//	w, err := ring.NewCompletionWriter(memory, 256, 0)
//	w.Write(ring.Completion{Tag: 7})             // the other side, same memory:
//	r, err := ring.NewCompletionReader(memory, 256, 0)
//	for c, ok := r.Read(); ok; c, ok = r.Read() { handle(c) }
//
// One goroutine at a time uses an end; Ready of a CompletionReader alone may be called by any. No end knows how full the ring
// is: the credits of docs/rings.md keep the writer from overtaking the reader. Memory may be written by a hostile process at
// any time, so each word of a slot is loaded once, and what was loaded is all that is used.
//
// Slots move as 64-bit words, and between functions in registers: a number that was just stored in pieces is slow to load whole.
package ring

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

const (
	wordSize       = 8
	requestSize    = 64
	completionSize = 32
	lapBits        = 0xFFFFFFFF // of word 0
)

// shape maps positions to slots and laps; unsigned, right at every wrap.
type shape struct {
	base  unsafe.Pointer // of the first slot; the mapping outlives the ring
	mask  uint64
	shift uint8
}

func newShape(memory []byte, slots uint32, slotSize uint64) (shape, error) {
	switch {
	case bits.OnesCount32(slots) != 1:
		return shape{}, fmt.Errorf("ring: slots = %d: want a power of two", slots)
	case uint64(len(memory)) < uint64(slots)*slotSize:
		return shape{}, fmt.Errorf("ring: memory of %d bytes cannot hold %d slots of %d", len(memory), slots, slotSize)
	}
	base := unsafe.Pointer(unsafe.SliceData(memory))
	if uintptr(base)%wordSize != 0 {
		return shape{}, fmt.Errorf("ring: memory is not aligned to %d bytes", wordSize)
	}
	return shape{base, uint64(slots) - 1, uint8(bits.TrailingZeros32(slots))}, nil
}

func (s *shape) lap(position uint64) uint32 { return uint32(position>>s.shift) + 1 }

func (s *shape) request(position uint64) unsafe.Pointer {
	return unsafe.Add(s.base, (position&s.mask)*requestSize)
}

func (s *shape) completion(position uint64) unsafe.Pointer {
	return unsafe.Add(s.base, (position&s.mask)*completionSize)
}

func word(slot unsafe.Pointer, i int) *uint64 { return (*uint64)(unsafe.Add(slot, i*wordSize)) }

// Request is a slot of the request ring; the low half of its word 0 is the lap.
type Request [requestSize / wordSize]uint64

// Completion is a slot of the completion ring; the low half of Head is the lap.
type Completion struct{ Head, Tag, Sizes, Value uint64 }

// RequestWriter is the client's end of the request ring.
type RequestWriter struct {
	shape
	position uint64
}

// NewRequestWriter starts at a position; a fresh segment has 0.
func NewRequestWriter(memory []byte, slots uint32, start uint64) (*RequestWriter, error) {
	s, err := newShape(memory, slots, requestSize)
	return &RequestWriter{s, start}, err
}

// Write publishes a slot, given as its words; the lap in head is ignored. It never blocks. What it stores last is a full fence.
func (w *RequestWriter) Write(head, tag, handle, deadline, buffer, args0, args1, args2 uint64) {
	slot := w.request(w.position)
	*word(slot, 1) = tag
	*word(slot, 2) = handle
	*word(slot, 3) = deadline
	*word(slot, 4) = buffer
	*word(slot, 5) = args0
	*word(slot, 6) = args1
	*word(slot, 7) = args2
	// SYNC POINT ring: pairs with the load in RequestReader.Read; the words above are visible first.
	atomic.StoreUint64(word(slot, 0), head&^lapBits|uint64(w.lap(w.position)))
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
	s, err := newShape(memory, slots, requestSize)
	return &RequestReader{s, start}, err
}

// Ready says whether Read would succeed.
func (r *RequestReader) Ready() bool {
	return uint32(atomic.LoadUint64(word(r.request(r.position), 0))) == r.lap(r.position)
}

// Read copies the next slot; false when it is not there yet.
func (r *RequestReader) Read(to *Request) bool {
	slot := r.request(r.position)
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
	s, err := newShape(memory, slots, completionSize)
	return &CompletionWriter{s, start}, err
}

// Write publishes a slot; the lap in it is ignored.
func (w *CompletionWriter) Write(c Completion) {
	slot := w.completion(w.position)
	*word(slot, 1) = c.Tag
	*word(slot, 2) = c.Sizes
	*word(slot, 3) = c.Value
	// SYNC POINT ring: pairs with the load in CompletionReader.Read.
	atomic.StoreUint64(word(slot, 0), c.Head&^lapBits|uint64(w.lap(w.position)))
	w.position++
}

// CompletionReader is the client's end of the completion ring.
type CompletionReader struct {
	shape
	position uint64
}

// NewCompletionReader starts at a position; a fresh segment has 0.
func NewCompletionReader(memory []byte, slots uint32, start uint64) (*CompletionReader, error) {
	s, err := newShape(memory, slots, completionSize)
	return &CompletionReader{s, start}, err
}

// Ready says whether the slot of a position that Position gave is written. Any goroutine may ask. Where the reader has gone on
// since, the answer is true until that slot is written once more.
func (r *CompletionReader) Ready(position uint64) bool {
	return uint32(atomic.LoadUint64(word(r.completion(position), 0))) == r.lap(position)
}

// Read takes the next slot; false when it is not there yet.
func (r *CompletionReader) Read() (Completion, bool) {
	slot := r.completion(r.position)
	// SYNC POINT ring: pairs with the store in CompletionWriter.Write.
	head := atomic.LoadUint64(word(slot, 0))
	if uint32(head) != r.lap(r.position) {
		return Completion{}, false
	}
	r.position++
	return Completion{head, atomic.LoadUint64(word(slot, 1)), atomic.LoadUint64(word(slot, 2)), atomic.LoadUint64(word(slot, 3))}, true
}

// Position counts the slots ever read; the next one has this number.
func (r *CompletionReader) Position() uint64 { return r.position }
