package rde

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sleepCap   = 50 * time.Millisecond // safety net of a block; finding work by it is a lost wake-up, and counted
	idleRounds = 20                    // empty rounds with yields before the poller blocks again
	lateGrace  = 20 * time.Millisecond // for an engine that was held up between writing and ringing
)

// poll is the reader that sleeps for all channels that nobody polls. It holds no thread while it is blocked.
func (c *Client) poll() {
	defer c.running.Done()
	defer c.resources.unref()
	defer func() { _ = c.wake.Close() }()
	raw, err := c.wake.SyscallConn()
	if err != nil {
		c.fail(&Error{Status: StatusSystemError, Field: "wake descriptor", Cause: err})
		return
	}
	var drain drain
	empty := drain.read // one closure for ever
	named := make([]*channel, 0, len(c.channels))
	for {
		timedOut := false
		c.sleeper.Announce()
		// A ring that was made cold was polled again after that, under its lock; so bits are all that is left to look at.
		if !c.sleeper.Any() {
			c.sleeper.CountSleep()
			err = c.wake.SetReadDeadline(time.Now().Add(sleepCap))
			if c.err.Load() != nil {
				return
			}
			if err == nil {
				err = raw.Read(empty)
			}
			timedOut = errors.Is(err, os.ErrDeadlineExceeded)
			if err != nil && !timedOut || drain.ended {
				c.fail(&Error{Status: StatusEngineGone, Field: "wake socket", Cause: err})
			}
		}
		if c.err.Load() != nil {
			return
		}
		if timedOut && c.sweep() {
			c.blame()
		}
		c.sleeper.Wake()
		named = named[:0]
		c.sleeper.Take(func(index uint32) {
			if index < uint32(len(c.channels)) {
				named = append(named, c.channels[index])
			}
		})
		c.pollNamed(named)
		c.tell()
	}
}

// drain empties the wake socket.
type drain struct {
	buffer [256]byte
	ended  bool
}

func (d *drain) read(fd uintptr) bool {
	// MSG_DONTWAIT: the engine could have changed the descriptor's own flag.
	n, _, err := unix.Recvfrom(int(fd), d.buffer[:], unix.MSG_DONTWAIT)
	if err == unix.EAGAIN || err == unix.EINTR {
		return false
	}
	d.ended = n <= 0
	return true
}

// pollNamed keeps the named rings hot until they stay empty for a while, then leaves them cold.
func (c *Client) pollNamed(named []*channel) {
	for _, ch := range named {
		c.visit(ch, func() { ch.polled = true; ch.setCold(false) })
	}
	for idle := 0; idle < idleRounds && c.spin.limit > 0 && len(named) > 0; idle++ {
		runtime.Gosched()
		for _, ch := range named {
			if ch.completions.Ready(ch.polledAt) && c.visit(ch, func() {}) {
				idle = 0
			}
		}
	}
	for _, ch := range named {
		c.visit(ch, func() { ch.polled = false })
	}
}

// visit reaps a channel. True when there was something, and no caller that polls it would have taken it.
func (c *Client) visit(ch *channel, before func()) bool {
	ch.mu.Lock()
	if ch.closed != nil {
		ch.mu.Unlock()
		return false
	}
	before()
	from, alone := ch.completions.Position(), ch.spinners == 0
	broken := ch.reap(nil)
	ch.polledAt = ch.completions.Position()
	ch.mu.Unlock()
	if broken != nil {
		c.fail(broken)
	}
	return ch.polledAt != from && alone
}

// sweep looks at every cold ring, after a block that ended by its cap. True when there was work.
func (c *Client) sweep() bool {
	found := c.sleeper.Any()
	for _, ch := range c.channels {
		cold := false
		if c.visit(ch, func() { cold = ch.cold }) && cold {
			found = true
		}
	}
	return found
}

// blame counts a lost wake-up, unless the engine only was slow to ring.
func (c *Client) blame() {
	for begun := time.Now(); !c.sleeper.Rung(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > lateGrace {
			c.sleeper.CountLate()
			c.log.Error("lost a wake-up", "client", c.welcome.ClientNumber, "lost", c.sleeper.Late())
			return
		}
	}
}

// tell writes the client's page, for tools.
func (c *Client) tell() {
	atomic.StoreUint64(&c.page.HeartbeatNS, c.clock.now())
	blocks, _ := c.arena.Usage()
	answers, _ := c.control.Usage()
	atomic.StoreUint64(&c.page.LentBuffers, uint64(blocks+answers))
}
