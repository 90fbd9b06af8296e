package doorbell

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

func TestAnAwakeReaderIsNotWoken(t *testing.T) {
	var bell layout.Doorbell
	if NewRinger(&bell).Ring(3) {
		t.Fatal("woken")
	}
	if bell.Bits[0] != 8 {
		t.Fatalf("bits are %b", bell.Bits[0])
	}
}

func TestASleeperIsWokenOnceForEachSleep(t *testing.T) {
	var bell layout.Doorbell
	r, s := NewRinger(&bell), NewSleeper(&bell, 8)
	for sleep := range 3 {
		s.Announce()
		if !r.Ring(0) {
			t.Fatalf("sleep %d was not woken", sleep)
		}
		if r.Ring(1) {
			t.Fatalf("sleep %d was woken twice", sleep)
		}
		if !s.Rung() {
			t.Fatal("the sleeper does not see that it was rung")
		}
		s.Wake()
	}
}

func TestTakeGivesEachBitOnceAndClearsThem(t *testing.T) {
	var bell layout.Doorbell
	r, s := NewRinger(&bell), NewSleeper(&bell, layout.MaxChannels)
	for _, channel := range []uint32{0, 63, 64, 4095} {
		r.Ring(channel)
	}
	var taken []uint32
	s.Take(func(channel uint32) { taken = append(taken, channel) })
	if len(taken) != 4 || taken[0] != 0 || taken[1] != 63 || taken[2] != 64 || taken[3] != 4095 {
		t.Fatalf("taken: %v", taken)
	}
	if s.Any() {
		t.Fatal("bits are left")
	}
}

func TestAGenerationMayWrap(t *testing.T) {
	bell := layout.Doorbell{}
	r, s := NewRinger(&bell), NewSleeper(&bell, 1)
	s.generation = 0xFFFFFFFE
	for range 4 {
		s.Announce()
		if !r.Ring(0) {
			t.Fatalf("generation %#x was not woken", s.generation)
		}
		s.Wake()
	}
}

// A sleeper that is never waked by a cap finds all news: the whole protocol, on the heap, for the race detector.
func TestNoWakeUpIsLost(t *testing.T) {
	const news = 20000
	var bell layout.Doorbell
	var cold atomic.Uint32
	var published, seen atomic.Uint64
	wakes := make(chan struct{}, 1)
	var group sync.WaitGroup
	group.Go(func() {
		r := NewRinger(&bell)
		for i := range news {
			for seen.Load()+3 < uint64(i) { // some of it comes while the reader is awake
				runtime.Gosched()
			}
			published.Add(1)
			if cold.Load() != 0 && r.Ring(0) {
				select {
				case wakes <- struct{}{}:
				default:
				}
			}
		}
	})
	s := NewSleeper(&bell, 1)
	watchdog := time.After(60 * time.Second)
	for seen.Load() < news {
		seen.Store(published.Load())
		cold.Store(1)
		s.Announce()
		if !s.Any() && published.Load() == seen.Load() && seen.Load() < news {
			select {
			case <-wakes:
			case <-watchdog:
				t.Fatalf("asleep with %d of %d seen", seen.Load(), published.Load())
			}
		}
		s.Wake()
		s.Take(func(uint32) {})
		cold.Store(0)
	}
	group.Wait()
}
