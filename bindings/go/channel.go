package rde

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/doorbell"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/ring"
)

// phase is what the engine may still do to an entry.
type phase uint8

const (
	idle        phase = iota // nothing
	outstanding              // answer it
	quarantined              // it was answered with MORE: return its buffer
)

// entry is the client's own record of a request. Its index and a generation make the tag, so that a late or forged
// completion names nothing. All fields but done belong to who holds the channel's lock.
type entry struct {
	done     atomic.Bool // the caller's to poll: finished was set by another goroutine
	finished bool        // the outcome is here
	held     bool        // the caller has not taken the outcome yet
	spinning bool        // the caller polls the ring
	parked   bool        // the caller blocks on wake
	phase    phase
	index    uint32
	tag      uint64
	length   uint32
	block    arena.Block
	answer   outcome       // without a lap
	wake     chan struct{} // capacity 1; made when the first caller parks here
	timer    *time.Timer
}

// op is a request under way, from begin until await. spin: its caller has to poll, from position at on.
type op struct {
	ch   *channel
	e    *entry
	at   uint64
	spin bool
}

var noBlock arena.Block

// channel is one request ring and one completion ring. Who holds mu may submit, reap for everybody, and change entries.
type channel struct {
	client      *Client
	index       uint32
	depth       uint32
	limit       uint32 // completion depth
	lines       *layout.ChannelLines
	bell        *doorbell.Ringer
	bellFD      int
	completions *ring.CompletionReader // Ready is for all

	mu          sync.Mutex
	requests    *ring.RequestWriter
	entries     []entry
	free        []uint32
	outstanding uint32
	quarantined uint32
	promised    uint32 // credits handed to those who waited, not used yet
	queue       []*creditWaiter
	live        int    // entries held by a caller
	spinners    int    // callers that poll
	polled      bool   // the poller polls
	polledAt    uint64 // the poller's own: where it polls
	cold        bool   // what we last stored in completion_cold
	faulted     bool
	gone        bool // let go of the mapping
	closed      *Error
	submitted   uint64
	abandoned   uint64
}

func newChannel(c *Client, index uint32, start uint64) (*channel, error) {
	h := c.view.Header()
	lines, requests, completions, err := c.view.Channel(index)
	if err != nil {
		return nil, err
	}
	shard := atomic.LoadUint32(&lines.Shard)
	if shard >= h.ShardCount {
		return nil, segmentInvalid("channel_lines.shard", uint64(shard), "below shard_count")
	}
	ch := &channel{client: c, index: index, depth: h.Depth, limit: h.CompletionDepth, lines: lines,
		bell: c.ringers[shard], bellFD: c.resources.shards[shard], cold: true}
	if ch.requests, err = ring.NewRequestWriter(requests, h.Depth, start); err != nil {
		return nil, err
	}
	if ch.completions, err = ring.NewCompletionReader(completions, h.CompletionDepth, start); err != nil {
		return nil, err
	}
	// Beside those that the engine knows, some are answered and not yet taken by their callers.
	ch.entries = make([]entry, h.CompletionDepth+h.Depth)
	ch.free = make([]uint32, 0, len(ch.entries))
	for i := len(ch.entries) - 1; i >= 0; i-- {
		ch.entries[i].index = uint32(i)
		ch.free = append(ch.free, uint32(i))
	}
	atomic.StoreUint32(&lines.CompletionCold, 1) // nobody polls it yet
	return ch, nil
}

// room says whether one more request may be written when so many credits are left alone (docs/rings.md, "Credits").
func (ch *channel) room(spare uint32) bool {
	used := ch.outstanding + ch.promised + spare
	return used < ch.depth && 2*(used+1)+ch.quarantined <= ch.limit && uint32(len(ch.free)) > ch.promised
}

// spare is how many credits only CANCEL may use.
func (ch *channel) spare() uint32 {
	if ch.depth >= 8 {
		return layout.ReservedCredits
	}
	return 0
}

// usable says why the channel takes no requests, or nil.
func (ch *channel) usable() *Error {
	if ch.closed != nil {
		return ch.closed
	}
	if !ch.faulted && atomic.LoadUint32(&ch.lines.State) == layout.ChannelStateFaulted {
		ch.faulted = true
		ch.client.log.Error("the engine faulted a channel", "channel", ch.index,
			"status", Status(atomic.LoadUint32(&ch.lines.FaultStatus)).String())
	}
	if ch.faulted {
		return &Error{Status: StatusRingBroken}
	}
	return nil
}

// submit writes a request, with a tag of its own; there is room and a free entry. With spin the caller is going to poll. True when the engine has
// to be woken with wakeEngine, after the lock is given back.
func (ch *channel) submit(r *layout.Request, block arena.Block, held, spin bool) (*entry, bool) {
	index := ch.free[len(ch.free)-1]
	ch.free = ch.free[:len(ch.free)-1]
	e := &ch.entries[index]
	e.finished, e.held, e.phase, e.length, e.block = false, held, outstanding, r.Length, block
	if e.done.Load() { // most callers reap their own answer, and never set it
		e.done.Store(false)
	}
	e.tag = (e.tag>>32+1)<<32 | uint64(index)
	ch.outstanding++
	ch.submitted++
	if held {
		ch.live++
	}
	if spin && ch.spinners < ch.client.spin.limit {
		e.spinning = true
		ch.spinners++
	}
	ch.setCold(ch.spinners == 0 && !ch.polled)
	args := (*[3]uint64)(unsafe.Pointer(&r.Args))
	ch.requests.Write(uint64(r.Op)<<32|uint64(r.Flags)<<40|uint64(r.Priority)<<48, e.tag, r.Handle, r.DeadlineNS,
		uint64(r.BufferPage)|uint64(r.Length)<<32, args[0], args[1], args[2])
	ch.lines.RequestsPosted = ch.requests.Position() // for tools
	// SYNC POINT cold: Write ended with a full fence; the engine fences between making its ring cold and polling it again.
	return e, atomic.LoadUint32(&ch.lines.RequestCold) != 0 && ch.bell.Ring(ch.index)
}

// setCold tells the engine whether anybody polls the completion ring. True when it just turned cold: then it has to be
// polled once more.
func (ch *channel) setCold(cold bool) bool {
	if cold == ch.cold {
		return false
	}
	ch.cold = cold
	var word uint32
	if cold {
		word = 1
	}
	atomic.StoreUint32(&ch.lines.CompletionCold, word) // SYNC POINT cold: a full fence before the next poll
	return cold
}

// drop ends an entry's use by its caller, who got the outcome or gave up.
func (ch *channel) drop(e *entry) {
	e.held = false
	ch.live--
	if e.phase == idle {
		ch.recycle(e)
	}
	ch.client.drained(ch)
}

// recycle makes an entry free.
func (ch *channel) recycle(e *entry) {
	if e.block.Pages() != 0 {
		ch.client.giveBack(e.block)
		e.block = noBlock
	}
	ch.free = append(ch.free, e.index)
}

// take hands the outcome of a finished entry to its caller.
func (ch *channel) take(e *entry) outcome {
	o := e.answer
	o.head &^= blockBack
	if e.phase == idle && e.block.Pages() != 0 {
		o.head |= blockBack
		e.block = noBlock
	}
	ch.drop(e)
	if len(ch.queue) > 0 {
		ch.grant() // it may have been free entries that were short
	}
	return o
}

// fail ends everything on the channel.
func (ch *channel) fail(err *Error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.closed != nil {
		return
	}
	ch.closed = err
	for i := range ch.entries {
		e := &ch.entries[i]
		switch e.phase {
		case idle:
			continue
		case outstanding:
			e.answer = outcome{err: err}
			ch.finish(e, nil)
		}
		e.phase = idle
		if !e.held {
			ch.recycle(e)
		}
	}
	ch.outstanding, ch.quarantined = 0, 0
	for _, w := range ch.queue {
		close(w.ready)
	}
	ch.queue = nil
	ch.client.drained(ch)
}
