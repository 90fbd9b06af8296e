// Package object says what a read of a stored object is, whatever path its bytes come by.
//
//	answer, err := path.Open(ctx, object.Want{ID: id, Offset: 100, Length: 50})
//	defer answer.Close()
//	for {
//		bytes, err := answer.Body.Next(ctx) // io.EOF after the last
//	}
package object

import (
	"context"
	"io"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

// Want is a part of an object. Offset and Length count unpacked bytes.
type Want struct {
	ID     rde.FileID
	Offset uint64
	Length uint64 // 0 = to the end
	// Decline asks for no bytes where the part reaches the object's end (see Answer.Declined).
	Decline bool
}

// Meta is what is known of an object apart from its bytes.
type Meta struct {
	Size         uint64 // unpacked bytes of the whole object
	ETag         string // CRC-32C of the stored bytes, eight hex digits; "" = not known
	Mime         string
	Name         string
	LastModified time.Time // zero = not known
	Gzip         bool      // stored packed; never set by a path that cannot tell
	Manifest     bool
}

// Same tells whether two answers speak of the same bytes, so that one may go on where the other stopped.
func (m Meta) Same(other Meta) bool {
	return m.ETag != "" && m.ETag == other.ETag && m.Size == other.Size
}

// Stream gives the bytes of a part, in order. For one goroutine.
type Stream interface {
	// Next gives the following bytes, at least one, valid until the next call of Next or Close.
	// After the last it fails with io.EOF. Any other error is final.
	Next(ctx context.Context) ([]byte, error)
	// Close frees what the stream holds. It may be called more than once.
	Close()
}

// Answer is an opened part. Close must be called.
type Answer struct {
	Meta     Meta
	Offset   uint64
	Length   uint64 // bytes that Body gives
	Declined bool   // Want.Decline was set and the part reaches the end: Body is empty, whatever Length says
	Source   Source
	Detail   string // how the bytes come, for people: "engine, local volume", "volume server HOST:PORT"
	Body     Stream
}

// Close closes the body.
func (a *Answer) Close() { a.Body.Close() }

// Source is the kind of path that bytes come by.
type Source string

// The sources.
const (
	FromEngine Source = "engine"
	FromHTTP   Source = "http"
)

// Clip fits the part to an object of the given size. It fails with 416 where the part begins behind the end.
func (w Want) Clip(size uint64) (length uint64, err error) {
	if w.Offset > size {
		return 0, PastEnd(w.Offset, size)
	}
	length = size - w.Offset
	if w.Length > 0 && w.Length < length {
		length = w.Length
	}
	return length, nil
}

// Tail tells whether the part reaches the end of an object of the given size.
func (w Want) Tail(size uint64) bool {
	return w.Length == 0 || w.Offset >= size || w.Length >= size-w.Offset
}

// Empty is a stream without bytes.
type Empty struct{}

// Next fails with io.EOF.
func (Empty) Next(context.Context) ([]byte, error) { return nil, io.EOF }

// Close does nothing.
func (Empty) Close() {}
