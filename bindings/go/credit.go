package rde

import (
	"context"
	"time"
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// creditWaiter stands in a channel's line. ready is closed when it got a credit, or when the channel was closed.
type creditWaiter struct {
	ready   chan struct{}
	granted bool
}

// start is where a goroutine looks for a channel first. Stacks lie apart, so goroutines spread over the channels, and one
// that comes again finds the same warm lines.
func (c *Client) start() uint32 {
	var here byte
	const golden = 0x9E3779B97F4A7C15
	hash := uint64(uintptr(unsafe.Pointer(&here))>>12) * golden
	return uint32(hash >> 32 * uint64(len(c.channels)) >> 32)
}

// after is the channel so many behind the first, around the end.
func (c *Client) after(first uint32, i int) *channel {
	i += int(first)
	if i >= len(c.channels) {
		i -= len(c.channels)
	}
	return c.channels[i]
}

// begin submits a request on some channel. It waits for a credit until ctx ends, at most as long as an operation may take;
// with try it does not wait, and gives ring_full. The block becomes the entry's, or is given back on an error.
func (c *Client) begin(ctx context.Context, r *layout.Request, block arena.Block, spin, try bool) (op, *Error) {
	first := c.start()
	for i := range c.channels {
		ch := c.after(first, i)
		if !ch.mu.TryLock() {
			if i+1 < len(c.channels) {
				continue
			}
			ch.mu.Lock()
		}
		if ch.usable() == nil && len(ch.queue) == 0 && ch.room(ch.spare()) {
			return c.launch(ch, r, block, spin), nil
		}
		ch.mu.Unlock()
	}
	if try {
		c.giveBack(block)
		return op{}, &Error{Status: StatusRingFull}
	}
	return c.beginInLine(ctx, first, r, block, spin)
}

// launch submits with the channel's lock held, and gives it back.
func (c *Client) launch(ch *channel, r *layout.Request, block arena.Block, spin bool) op {
	e, wake := ch.submit(r, block, true, spin)
	o := op{ch, e, ch.completions.Position(), e.spinning}
	ch.mu.Unlock()
	if wake {
		c.wakeEngine(ch)
	}
	return o
}

func (c *Client) beginInLine(ctx context.Context, first uint32, r *layout.Request, block arena.Block, spin bool) (op, *Error) {
	var failed *Error
	for i := range c.channels {
		ch := c.after(first, i)
		if failed = ch.lockCredit(ctx); failed == nil {
			return c.launch(ch, r, block, spin), nil
		}
		if failed.Status != StatusRingBroken { // a faulted channel says nothing about the next one
			break
		}
	}
	c.giveBack(block)
	return op{}, failed
}

// lockCredit returns with the lock held and room for one request, or with an error.
func (ch *channel) lockCredit(ctx context.Context) *Error {
	ch.mu.Lock()
	if err := ch.usable(); err != nil {
		ch.mu.Unlock()
		return err
	}
	if len(ch.queue) == 0 && ch.room(ch.spare()) {
		return nil
	}
	w := &creditWaiter{ready: make(chan struct{})}
	ch.queue = append(ch.queue, w)
	ch.mu.Unlock()
	timer := time.NewTimer(ch.client.patience)
	defer timer.Stop()
	var failed *Error
	select {
	case <-w.ready:
	case <-ctx.Done():
		failed = contextError(ctx)
	case <-timer.C:
		failed = &Error{Status: StatusRingFull, Text: "no request ended in time to make room; is the engine frozen?"}
	}
	ch.mu.Lock()
	if w.granted {
		ch.promised--
	} else {
		ch.leave(w)
	}
	if failed == nil {
		failed = ch.usable()
	}
	if failed != nil {
		ch.grant()
		ch.mu.Unlock()
	}
	return failed
}

func (ch *channel) leave(w *creditWaiter) {
	for i, other := range ch.queue {
		if other == w {
			ch.queue = append(ch.queue[:i], ch.queue[i+1:]...)
			return
		}
	}
}

// grant promises the credits that are back to those who wait, first come first served.
func (ch *channel) grant() {
	for len(ch.queue) > 0 && ch.room(ch.spare()) {
		w := ch.queue[0]
		ch.queue[0] = nil
		ch.queue = ch.queue[1:]
		w.granted = true
		ch.promised++
		close(w.ready)
	}
}
