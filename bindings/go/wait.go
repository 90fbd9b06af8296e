package rde

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

const (
	defaultTimeout = 30 * time.Second      // of an operation whose context has no deadline
	margin         = time.Second           // after which the client answers in the engine's place
	defaultSpin    = 20 * time.Microsecond // about a block's cost in wake-ups
	tightPolls     = 1000                  // one or two microseconds
	pollsPerLook   = 16                    // yields between two looks at the clock
)

// spinPolicy bounds the polling of a caller before it blocks.
type spinPolicy struct {
	limit   int           // callers that may poll a channel at the same time
	tight   int           // polls without a yield
	total   time.Duration // of polls with yields
	osYield bool          // other processes want this core
}

func newSpinPolicy(spinFor time.Duration) spinPolicy {
	if spinFor < 0 {
		return spinPolicy{}
	}
	if spinFor == 0 {
		spinFor = defaultSpin
	}
	// GOMAXPROCS follows cgroup quotas, NumCPU the affinity mask. With one core the engine waits for us to yield.
	procs, cpus := runtime.GOMAXPROCS(0), runtime.NumCPU()
	policy := spinPolicy{limit: max(1, procs/2), tight: tightPolls, total: spinFor, osYield: cpus <= 2}
	if cpus == 1 {
		policy.tight = 0
	}
	return policy
}

// await waits for a request that begin gave, and takes its outcome. When ctx ends first, the request is cancelled and the
// caller answered at once; what the engine may still write stays out of use.
func (c *Client) await(ctx context.Context, o op) outcome {
	if !o.spin {
		return c.park(ctx, o.ch, o.e)
	}
	for range c.spin.tight {
		out, at, ok := c.look(o.ch, o.e, o.at)
		if ok {
			return out
		}
		o.at = at
	}
	for begun, polls := time.Now(), 1; ; polls++ {
		out, at, ok := c.look(o.ch, o.e, o.at)
		if ok {
			return out
		}
		o.at = at
		runtime.Gosched()
		if c.spin.osYield {
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
		if polls%pollsPerLook == 0 && time.Since(begun) > c.spin.total {
			return c.park(ctx, o.ch, o.e)
		}
	}
}

// join lets the caller of a request that was begun without polling poll from here on, where not too many do.
func (c *Client) join(o op) op {
	ch := o.ch
	ch.mu.Lock()
	if !o.e.finished && ch.closed == nil && ch.spinners < c.spin.limit {
		o.e.spinning, o.spin = true, true
		ch.spinners++
		ch.setCold(false)
		o.at = ch.completions.Position()
	}
	ch.mu.Unlock()
	return o
}

// look polls once, at a position of the ring, and gives the position to look at next. Whoever finds completions reaps them for
// everybody.
func (c *Client) look(ch *channel, e *entry, at uint64) (o outcome, next uint64, ok bool) {
	if e.done.Load() {
		ch.mu.Lock()
		o = ch.take(e)
		ch.mu.Unlock()
		return o, 0, true
	}
	if !ch.completions.Ready(at) || !ch.mu.TryLock() {
		return outcome{}, at, false
	}
	broken := ch.reap(e)
	if e.finished {
		o, ok = ch.take(e), true
	}
	at = ch.completions.Position()
	ch.mu.Unlock()
	if broken != nil {
		c.fail(broken)
	}
	return o, at, ok
}

// park blocks the caller until somebody reaps its completion.
func (c *Client) park(ctx context.Context, ch *channel, e *entry) outcome {
	ch.mu.Lock()
	if e.spinning {
		e.spinning = false
		ch.spinners--
	}
	// SYNC POINT cold: reap makes the ring cold where we were the last to poll it, and then looks once more.
	if broken := ch.reap(e); broken != nil {
		ch.mu.Unlock()
		c.fail(broken)
		ch.mu.Lock()
	}
	if e.finished {
		defer ch.mu.Unlock()
		return ch.take(e)
	}
	if e.wake == nil {
		e.wake = make(chan struct{}, 1)
	}
	e.parked = true
	ch.mu.Unlock()

	if reason := e.sleep(ctx, c.patience+margin); reason != nil {
		return c.abandon(ch, e, reason)
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.take(e)
}

// sleep blocks until the token of finish is there, or gives the reason to wait no longer. patience is for a ctx without a
// deadline.
func (e *entry) sleep(ctx context.Context, patience time.Duration) *Error {
	var expired <-chan time.Time
	if _, bounded := ctx.Deadline(); !bounded {
		expired = e.arm(patience)
		defer e.timer.Stop() // before the entry is given back: the timer is its next caller's too
	}
	select {
	case <-e.wake:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	case <-expired:
		return &Error{Status: StatusDeadlineExceeded, Text: "the engine did not answer in time"}
	}
}

func (e *entry) arm(d time.Duration) <-chan time.Time {
	if e.timer == nil {
		e.timer = time.NewTimer(d)
	} else {
		e.timer.Reset(d)
	}
	return e.timer.C
}

// abandon ends a request for its caller, without the engine. An outcome that came in between counts.
func (c *Client) abandon(ch *channel, e *entry, reason *Error) outcome {
	ch.mu.Lock()
	if e.parked {
		e.parked = false
	} else if len(e.wake) > 0 {
		<-e.wake
	}
	if e.spinning {
		e.spinning = false
		ch.spinners--
	}
	wake := false
	if !e.finished && ch.closed == nil {
		ch.abandoned++
		wake = ch.cancel(e.tag)
	}
	broken := ch.reap(e)
	if wake {
		c.wakeEngine(ch) // while the entry, and so the descriptor, is ours
	}
	var o outcome
	if e.finished {
		o = ch.take(e)
	} else {
		o.err = reason
		ch.drop(e)
	}
	ch.mu.Unlock()
	if broken != nil {
		c.fail(broken)
	}
	return o
}

// cancel writes a CANCEL, for which credits are kept. Nobody waits for its answer.
func (ch *channel) cancel(tag uint64) (wake bool) {
	if ch.usable() != nil || !ch.room(0) {
		return false
	}
	r := layout.Request{Op: layout.OpCancel, Args: args(layout.CancelArgs{Tag: tag})}
	_, wake = ch.submit(&r, noBlock, false, false)
	return wake
}
