package httppath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// stream gives the bytes of a response body.
type stream struct {
	body   io.ReadCloser
	cancel context.CancelFunc // ends the request
	stall  time.Duration
	failed func(error) // told when the server stops in the middle
	left   uint64      // bytes still to give
	buffer *[bufferSize]byte
}

func newStream(body io.ReadCloser, cancel context.CancelFunc, stall time.Duration, failed func(error)) *stream {
	buffer, _ := buffers.Get().(*[bufferSize]byte)
	return &stream{body: body, cancel: cancel, stall: stall, failed: failed, buffer: buffer}
}

// skip passes over bytes that come before the wanted ones.
func (s *stream) skip(count uint64) error {
	for count > 0 {
		n, err := s.read(min(count, bufferSize))
		if err != nil {
			return err
		}
		count -= uint64(n)
	}
	return nil
}

// Next gives up to 256 KiB.
func (s *stream) Next(ctx context.Context) ([]byte, error) {
	if s.left == 0 {
		return nil, io.EOF
	}
	if s.buffer == nil {
		return nil, errors.New("the stream is closed")
	}
	stop := context.AfterFunc(ctx, s.cancel)
	defer stop()
	n, err := s.read(min(s.left, bufferSize))
	if err != nil {
		if ctx.Err() == nil {
			s.failed(err)
		}
		return nil, err
	}
	s.left -= uint64(n)
	return s.buffer[:n], nil
}

// read fills the front of the buffer with as much as comes at once, at least one byte.
func (s *stream) read(most uint64) (int, error) {
	timer := time.AfterFunc(s.stall, s.cancel)
	defer timer.Stop()
	n, err := io.ReadAtLeast(s.body, s.buffer[:most], int(min(most, bufferSize/4)))
	if err != nil {
		return 0, fmt.Errorf("volume server stopped in the middle of its answer: %w", err)
	}
	return n, nil
}

// Close ends the request.
func (s *stream) Close() {
	if s.buffer == nil {
		return
	}
	_ = s.body.Close()
	s.cancel()
	buffers.Put(s.buffer)
	s.buffer = nil
}
