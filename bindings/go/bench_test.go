package rde

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
)

const batch = 200 // round trips between two looks at the clock

// BenchmarkNop is a whole round trip through the rings, to an engine that polls on the other core. The floor is a word that
// the two cores pass to each other; best batches are compared, so that other programs on the machine do not count.
func BenchmarkNop(b *testing.B) {
	benchmarkNop(b, func() *Client {
		return attachTo(b, enginetest.Start(b, enginetest.Options{Core: 2, Depth: 64}), Options{SpinFor: time.Second})
	})
}

// benchmarkNop measures both in turn, so that both see the machine in the same moods.
func benchmarkNop(b *testing.B, attach func() *Client) {
	twoCores(b)
	c := attach()
	line := newCacheLine()
	defer line.stop()
	defer enginetest.Pin(1)()
	ctx := context.Background()
	best, floor := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	rounds := 0
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		for range batch {
			if err := c.Nop(ctx); err != nil {
				b.Fatal(err)
			}
		}
		best = min(best, time.Since(begun))
		if rounds++; rounds%50 == 0 {
			b.StopTimer()
			floor = min(floor, line.best(50))
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(best)/batch, "best-ns/nop")
	b.ReportMetric(float64(floor)/batch, "floor-ns/nop")
	b.ReportMetric(float64(best)/float64(floor), "ratio")
}

// cacheLine is a word on core 1 and its echo on core 2.
type cacheLine struct {
	_     [64]byte
	ping  atomic.Uint64
	_     [64]byte
	pong  atomic.Uint64
	_     [64]byte
	word  uint64
	start chan struct{}
}

const pause = math.MaxUint64 // the echo gives its core back

func newCacheLine() *cacheLine {
	l := &cacheLine{start: make(chan struct{})}
	go func() {
		defer enginetest.Pin(2)()
		for range l.start {
			for last := uint64(0); last != pause; {
				if v := l.ping.Load(); v != last {
					l.pong.Store(v)
					last = v
				}
			}
		}
	}()
	return l
}

// best is the best batch of so many.
func (l *cacheLine) best(batches int) time.Duration {
	l.ping.Store(0)
	l.start <- struct{}{}
	best := time.Duration(math.MaxInt64)
	for range batches {
		begun := time.Now()
		for range batch {
			l.word++
			l.pass(l.word)
		}
		best = min(best, time.Since(begun))
	}
	l.pass(pause)
	return best
}

func (l *cacheLine) pass(word uint64) {
	l.ping.Store(word)
	for l.pong.Load() != word {
	}
}

func (l *cacheLine) stop() { close(l.start) }

// BenchmarkNopBlocked is the same where nobody polls.
func BenchmarkNopBlocked(b *testing.B) {
	c := attachTo(b, enginetest.Start(b, enginetest.Options{}), Options{SpinFor: -1})
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Nop(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead4K(b *testing.B) { benchmarkRead(b, 4<<10) }
func BenchmarkRead1M(b *testing.B) { benchmarkRead(b, 1<<20) }

func benchmarkRead(b *testing.B, size int) {
	e := enginetest.Start(b, enginetest.Options{SegmentSize: 16 << 20})
	e.Put(testID(object), enginetest.Object{Data: noise(size)})
	c := attachTo(b, e, Options{})
	ctx := context.Background()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		buffer, _, err := c.Read(ctx, 0, object, 0, size)
		if err != nil {
			b.Fatal(err)
		}
		buffer.Release()
	}
}

// BenchmarkParallelNop has many callers on two channels.
func BenchmarkParallelNop(b *testing.B) {
	c := attachTo(b, enginetest.Start(b, enginetest.Options{Depth: 64}), Options{})
	ctx := context.Background()
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := c.Nop(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func twoCores(b *testing.B) {
	if runtime.NumCPU() < 2 || runtime.GOMAXPROCS(0) < 2 {
		b.Skip("needs two cores")
	}
}
