package rde

import (
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/attach"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Stats are numbers of a client. Counts only grow.
type Stats struct {
	Requests      uint64 // written to the rings
	Abandoned     uint64 // whose caller was answered before the engine did
	Outstanding   int    // under way
	Quarantined   int    // answered, and their buffers not back yet
	LentBlocks    int    // blocks of the arena that are out
	ArenaBytes    uint64
	FreeBytes     uint64 // of the arena
	EngineWakes   uint64 // wake-ups sent to the engine
	LateWakeups   uint64 // lost wake-ups; must be 0
	FaultedRings  int
	Channels      int
	Depth         int
	ClientNumber  uint64
	Epoch         uint64
	EngineVersion string
}

// Stats reads them all.
func (c *Client) Stats() Stats {
	blocks, free := c.arena.Usage()
	answers, answerPages := c.control.Usage()
	blocks, free = blocks+answers, free+answerPages
	h := c.view.Header()
	s := Stats{LentBlocks: blocks, FreeBytes: uint64(free) * layout.ArenaPage, ArenaBytes: h.ArenaSize, EngineWakes: c.wakes.Load(),
		LateWakeups: c.sleeper.Late(), Channels: len(c.channels), Depth: int(h.Depth), ClientNumber: h.ClientNumber,
		Epoch: h.Epoch, EngineVersion: attach.Text(c.welcome.Version[:])}
	for _, ch := range c.channels {
		ch.mu.Lock()
		s.Requests += ch.submitted
		s.Abandoned += ch.abandoned
		s.Outstanding += int(ch.outstanding)
		s.Quarantined += int(ch.quarantined)
		if ch.faulted {
			s.FaultedRings++
		}
		ch.mu.Unlock()
	}
	return s
}
