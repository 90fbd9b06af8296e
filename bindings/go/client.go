package rde

import (
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/doorbell"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/segment"
)

// Client is an attachment to one life of an engine. All its methods may be called from any goroutine. It never comes back
// after the engine is gone: attach anew.
type Client struct {
	log       *slog.Logger
	welcome   layout.AttachWelcome
	view      *segment.View
	page      *layout.ClientPage
	arena     *arena.Arena // data
	control   *arena.Arena // answers of a page
	buffers   []byte       // the arena's memory
	channels  []*channel
	ringers   []*doorbell.Ringer // by shard
	sleeper   *doorbell.Sleeper  // the poller's
	resources *resources
	clock     clock
	spin      spinPolicy
	patience  time.Duration // with an operation whose context has no deadline

	conn *net.UnixConn // attach socket: its end is the engine's
	wake *os.File      // the engine wakes us here

	once    sync.Once
	err     atomic.Pointer[Error]
	done    chan struct{}
	running sync.WaitGroup // poller and watcher
	wakes   atomic.Uint64
}

// Epoch tells one life of the engine from every other: after a restart it is another one.
func (c *Client) Epoch() uint64 { return c.welcome.Epoch }

// Done is closed when the engine is gone or the client was closed. Err says which.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is nil while requests are taken; then it is what ended the client: engine_gone, engine_broken or detached.
func (c *Client) Err() error {
	if err := c.err.Load(); err != nil {
		return err
	}
	return nil
}

// Close detaches. Calls under way fail with detached. Buffers that are lent stay good until they are released; the segment is
// unmapped with the last one. It may be called more than once.
func (c *Client) Close() error {
	c.fail(&Error{Status: StatusDetached})
	c.running.Wait()
	return nil
}

// fail ends the client: once, and with the first reason. No lock of a channel is held.
func (c *Client) fail(reason *Error) {
	c.once.Do(func() {
		if reason.Status != StatusDetached {
			c.log.Warn("detached from the engine", "client", c.welcome.ClientNumber, "error", reason.Error())
		}
		c.err.Store(reason)
		close(c.done)
		for _, ch := range c.channels {
			ch.fail(reason)
		}
		c.arena.Close(reason)
		c.control.Close(reason)
		_ = c.conn.Close()                          // ends the watcher
		_ = c.wake.SetReadDeadline(time.Unix(1, 0)) // ends the poller
	})
}

// drained lets go of the mapping for a channel that is closed and has no caller left; its lock is held.
func (c *Client) drained(ch *channel) {
	if ch.closed != nil && ch.live == 0 && !ch.gone {
		ch.gone = true
		c.resources.unref()
	}
}

// watch waits for the attach socket to close.
func (c *Client) watch() {
	defer c.running.Done()
	var b [64]byte
	n, err := c.conn.Read(b[:])
	if err == nil && n > 0 {
		c.fail(&Error{Status: StatusEngineBroken, Field: "attach socket", Text: "the engine sent a message after ATTACHED"})
		return
	}
	c.fail(&Error{Status: StatusEngineGone})
}

// wakeEngine rings for the shard of a channel, which sleeps. The descriptor is kept open by an entry of the caller's.
func (c *Client) wakeEngine(ch *channel) {
	c.wakes.Add(1)
	// The flag lies in what both processes share: an engine that took it away would make us block here.
	if flags, err := unix.FcntlInt(uintptr(ch.bellFD), unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK == 0 {
		_ = unix.SetNonblock(ch.bellFD, true)
	}
	one := [8]byte{1}
	for {
		_, err := unix.Write(ch.bellFD, one[:])
		switch err {
		case nil, unix.EAGAIN: // a full counter is a wake-up that is already there
			return
		case unix.EINTR:
			continue
		}
		c.log.Error("cannot wake the engine", "channel", ch.index, "error", err)
		return
	}
}
