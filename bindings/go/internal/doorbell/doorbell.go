// Package doorbell wakes a reader that sleeps (docs/rings.md, "Sleeping").
//
//	ringer := doorbell.NewRinger(bell)            // writer, after it published
//	if atomic.LoadUint32(cold) != 0 && ringer.Ring(channel) { wake(fd) }
//
//	sleeper := doorbell.NewSleeper(bell, channels) // reader
//	sleeper.Announce()
//	if !sleeper.Any() { block() }
//	sleeper.Wake()
//	sleeper.Take(func(channel uint32) { poll(channel) })
//
// Go's atomics are sequentially consistent, so each of them is the fence that the protocol asks for.
package doorbell

import (
	"math/bits"
	"sync/atomic"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Ringer is the writer's side. Any goroutine may use it.
type Ringer struct {
	bell      *layout.Doorbell
	lastWoken atomic.Uint32
}

// NewRinger rings a bell that another process sleeps on.
func NewRinger(bell *layout.Doorbell) *Ringer { return &Ringer{bell: bell} }

// Ring notes news of a cold ring; true when the caller has to wake the reader. The news was published before.
func (r *Ringer) Ring(channel uint32) bool {
	atomic.OrUint64(&r.bell.Bits[channel/64%64], 1<<(channel%64))
	// SYNC POINT doorbell: this load comes after the bit; Sleeper.Announce stores before it looks at the bits.
	generation := atomic.LoadUint32(&r.bell.Sleep)
	if generation&1 == 0 || r.lastWoken.Swap(generation) == generation {
		return false
	}
	atomic.StoreUint32(&r.bell.Woken, generation)
	return true
}

// Sleeper is the reader's side. One goroutine uses it.
type Sleeper struct {
	bell       *layout.Doorbell
	words      uint32
	generation uint32
	sleeps     uint64
	late       atomic.Uint64
}

// NewSleeper sleeps on a bell of its own, for rings 0 to channels - 1.
func NewSleeper(bell *layout.Doorbell, channels uint32) *Sleeper {
	return &Sleeper{bell: bell, words: min((channels+63)/64, uint32(len(bell.Bits)))}
}

// Announce makes ringers wake us from here on. The caller looks at its rings once more before it blocks.
func (s *Sleeper) Announce() {
	s.generation++
	atomic.StoreUint32(&s.bell.Sleep, s.generation) // SYNC POINT doorbell: pairs with Ringer.Ring
}

// Wake ends what Announce began.
func (s *Sleeper) Wake() {
	s.generation++
	atomic.StoreUint32(&s.bell.Sleep, s.generation)
}

// Any says whether a bit is set.
func (s *Sleeper) Any() bool {
	for i := range s.words {
		if atomic.LoadUint64(&s.bell.Bits[i]) != 0 {
			return true
		}
	}
	return false
}

// Take calls visit for every bit and clears it.
func (s *Sleeper) Take(visit func(channel uint32)) {
	for i := range s.words {
		if atomic.LoadUint64(&s.bell.Bits[i]) == 0 {
			continue
		}
		for set := atomic.SwapUint64(&s.bell.Bits[i], 0); set != 0; set &= set - 1 {
			visit(i*64 + uint32(bits.TrailingZeros64(set)))
		}
	}
}

// CountSleep counts a block.
func (s *Sleeper) CountSleep() {
	s.sleeps++
	atomic.StoreUint64(&s.bell.Sleeps, s.sleeps)
}

// Rung says whether a ringer has woken, or is about to wake, the sleep that Announce began.
func (s *Sleeper) Rung() bool { return atomic.LoadUint32(&s.bell.Woken) == s.generation }

// CountLate counts a block that ended by its cap and found work that nobody rang for.
func (s *Sleeper) CountLate() { atomic.StoreUint64(&s.bell.LateWakeups, s.late.Add(1)) }

// Late counts the lost wake-ups; it must stay 0. Any goroutine may ask.
func (s *Sleeper) Late() uint64 { return s.late.Load() }
