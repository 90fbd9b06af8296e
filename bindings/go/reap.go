package rde

import (
	"fmt"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/ring"
)

// reap takes every completion that is there, for whoever waits for it; the lock is held. An entry that the caller itself waits
// for is named by self. An error means that the engine broke a rule: the caller gives the lock back and fails the client.
func (ch *channel) reap(self *entry) *Error {
	if ch.closed != nil {
		return nil
	}
	for {
		reaped := false
		for c, ok := ch.completions.Read(); ok; c, ok = ch.completions.Read() {
			reaped = true
			if err := ch.accept(c, self); err != nil {
				return err
			}
		}
		if reaped {
			ch.lines.CompletionsReaped = ch.completions.Position() // for tools
			if len(ch.queue) > 0 {
				ch.grant()
			}
		}
		// A ring that is left with answers to come is left cold. One without stays as it is: the next caller finds it hot.
		if ch.spinners > 0 || ch.polled || ch.outstanding+ch.quarantined == 0 || !ch.setCold(true) {
			return nil
		}
	}
}

// accept matches a private copy of a completion with what is outstanding. Nothing else has any effect.
func (ch *channel) accept(c ring.Completion, self *entry) *Error {
	index := uint32(c.Tag)
	if uint64(index) >= uint64(len(ch.entries)) {
		return ch.broken(c, "a tag that was never given")
	}
	e := &ch.entries[index]
	flags := uint16(c.Head >> 48)
	more, returned := flags&layout.CompletionFlagMore != 0, flags&layout.CompletionFlagBufferFree != 0
	switch {
	case e.tag != c.Tag || e.phase == idle:
		return ch.broken(c, "a tag that is not outstanding")
	case e.phase == outstanding && returned:
		return ch.broken(c, "BUFFER_FREE for a request that was not answered")
	case e.phase == quarantined && (!returned || more):
		return ch.broken(c, "a second answer")
	case e.phase == quarantined:
		ch.quarantined--
		e.phase = idle
		if !e.held {
			ch.recycle(e)
		} else {
			ch.client.giveBack(e.block)
			e.block = noBlock
		}
		return nil
	}
	ch.outstanding--
	e.phase = idle
	if more {
		e.phase = quarantined
		ch.quarantined++
	}
	e.answer = answered(c, e.length)
	if !e.held {
		if e.phase == idle {
			ch.recycle(e)
		}
		return nil
	}
	ch.finish(e, self)
	return nil
}

// finish tells the caller of an entry that its outcome is here.
func (ch *channel) finish(e, self *entry) {
	if !e.held {
		return
	}
	e.finished = true
	if e.spinning {
		e.spinning = false
		ch.spinners--
	}
	if e.parked {
		e.parked = false
		e.wake <- struct{}{} // has room: one token for each time that it parks
	}
	if e != self {
		e.done.Store(true)
	}
}

func (ch *channel) broken(c ring.Completion, what string) *Error {
	return &Error{Status: StatusEngineBroken, Field: "completion.tag",
		Text: fmt.Sprintf("channel %d, completion %d: tag %#x, flags %#x: %s; restart the engine, and report this",
			ch.index, ch.completions.Position()-1, c.Tag, c.Head>>48, what)}
}
