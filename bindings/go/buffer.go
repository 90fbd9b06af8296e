package rde

import (
	"context"
	"errors"
	"io"
	"math"
	"sync/atomic"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Buffer is memory of the segment that a read has filled, lent until Release. Nothing is copied. It keeps the segment mapped,
// also when the client has been closed. Its methods may be called from any goroutine.
//
//	buffer, info, err := client.Read(ctx, 0, id, 0, 4096)
//	if err != nil { … }
//	defer buffer.Release()
//	w.Write(buffer.Bytes())
type Buffer struct {
	client *Client
	block  arena.Block
	bytes  []byte
	state  atomic.Int32 // accessors inside; negative after Release
}

const released = math.MinInt32

// Len is the number of bytes that were read.
func (b *Buffer) Len() int { return len(b.bytes) }

// Bytes is the memory itself; nil after Release. The slice must not be used after Release: it would show other reads' bytes.
// ReadAt and WriteTo cannot be misused so.
func (b *Buffer) Bytes() []byte {
	if b.state.Load() < 0 {
		return nil
	}
	return b.bytes
}

// ReadAt copies from an offset. Errors: ErrDetached after Release, io.EOF at the end.
func (b *Buffer) ReadAt(p []byte, offset int64) (int, error) {
	if !b.pin() {
		return 0, ErrDetached
	}
	defer b.unpin()
	if offset < 0 {
		return 0, &Error{Op: "read buffer", Status: StatusInvalidRequest, Field: "offset", Text: "below 0"}
	}
	if offset >= int64(len(b.bytes)) {
		return 0, io.EOF
	}
	n := copy(p, b.bytes[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteTo writes all bytes, from the segment itself. Errors: ErrDetached after Release, or the writer's.
func (b *Buffer) WriteTo(w io.Writer) (int64, error) {
	if !b.pin() {
		return 0, ErrDetached
	}
	defer b.unpin()
	n, err := w.Write(b.bytes)
	return int64(n), err
}

// Release gives the memory back. It may be called more than once.
func (b *Buffer) Release() {
	for {
		n := b.state.Load()
		if n < 0 {
			return
		}
		if b.state.CompareAndSwap(n, n+released) {
			if n == 0 {
				b.client.giveBack(b.block)
			}
			return
		}
	}
}

func (b *Buffer) pin() bool {
	for {
		n := b.state.Load()
		if n < 0 {
			return false
		}
		if b.state.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (b *Buffer) unpin() {
	if b.state.Add(-1) == released {
		b.client.giveBack(b.block)
	}
}

// borrow takes a block for so many bytes of data, which keeps the segment mapped until giveBack. It waits in line until ctx
// ends. Nobody may hold another block of data while it waits.
func (c *Client) borrow(ctx context.Context, bytes int) (arena.Block, *Error) {
	if block, ok := c.tryBorrow(bytes); ok {
		return block, nil
	}
	if bytes > c.MaxRead() {
		return noBlock, &Error{Status: StatusTransferTooLarge, Field: "length", Text: lengthText(bytes, c.MaxRead())}
	}
	return c.borrowFrom(ctx, c.arena, pagesOf(bytes))
}

// borrowPage takes a page for an answer. It may be waited for with blocks of data in hand.
func (c *Client) borrowPage(ctx context.Context) (arena.Block, *Error) {
	return c.borrowFrom(ctx, c.control, 1)
}

func (c *Client) borrowFrom(ctx context.Context, from *arena.Arena, pages uint32) (arena.Block, *Error) {
	block, ok := from.TryAlloc(pages)
	if !ok {
		if _, bounded := ctx.Deadline(); !bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, c.patience, StatusOutOfBuffers)
			defer cancel()
		}
		var err error
		if block, err = from.Alloc(ctx, pages); err != nil {
			return noBlock, borrowError(ctx, err)
		}
	}
	if !c.resources.ref() {
		from.Free(block)
		return noBlock, &Error{Status: StatusDetached}
	}
	return block, nil
}

func borrowError(ctx context.Context, err error) *Error {
	var closed *Error
	switch {
	case errors.As(err, &closed):
		return closed
	case context.Cause(ctx) == error(StatusOutOfBuffers):
		return &Error{Status: StatusOutOfBuffers, Text: "none came back in time; release buffers sooner, or ask for a larger segment"}
	default:
		return contextError(ctx)
	}
}

// tryBorrow is borrow that does not wait.
func (c *Client) tryBorrow(bytes int) (arena.Block, bool) {
	block, ok := c.arena.TryAlloc(pagesOf(bytes))
	if !ok {
		return noBlock, false
	}
	if !c.resources.ref() {
		c.arena.Free(block)
		return noBlock, false
	}
	return block, true
}

// giveBack frees a borrowed block. No block is a no-op.
func (c *Client) giveBack(block arena.Block) {
	switch {
	case block.Pages() == 0:
		return
	case c.arena.Has(block):
		c.arena.Free(block)
	default:
		c.control.Free(block)
	}
	c.resources.unref()
}

// memory of a block, cut to a length that fits it.
func (c *Client) memory(block arena.Block, length uint32) []byte {
	start := uint64(block.Page) * layout.ArenaPage
	end := start + min(uint64(length), uint64(block.Pages())*layout.ArenaPage)
	return c.buffers[start:end:end]
}

func pagesOf(bytes int) uint32 {
	if bytes <= 0 || uint64(bytes) > math.MaxUint32 {
		return 0
	}
	return uint32((uint64(bytes) + layout.ArenaPage - 1) / layout.ArenaPage)
}

// MaxRead is the largest length of one Read, in bytes: the largest block of the arena. The engine may allow less
// (Capabilities.MaxTransfer).
func (c *Client) MaxRead() int {
	return int(min(uint64(c.arena.Largest())*layout.ArenaPage, math.MaxUint32))
}
