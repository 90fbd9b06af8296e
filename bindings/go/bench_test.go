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

func benchmarkNop(b *testing.B, attach func() *Client) {
	twoCores(b)
	floor := cacheLine(2000)
	c := attach()
	defer enginetest.Pin(1)()
	ctx := context.Background()
	best := time.Duration(math.MaxInt64)
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		for range batch {
			if err := c.Nop(ctx); err != nil {
				b.Fatal(err)
			}
		}
		best = min(best, time.Since(begun))
	}
	b.ReportMetric(float64(best)/batch, "best-ns/nop")
	b.ReportMetric(float64(floor)/batch, "floor-ns/nop")
	b.ReportMetric(float64(best)/float64(floor), "ratio")
}

// cacheLine is the best batch of passing a word to the other core and back.
func cacheLine(batches int) time.Duration {
	var line struct {
		_    [64]byte
		ping atomic.Uint64
		_    [64]byte
		pong atomic.Uint64
		_    [64]byte
	}
	const end = math.MaxUint64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer enginetest.Pin(2)()
		for last := uint64(0); last != end; {
			if v := line.ping.Load(); v != last {
				line.pong.Store(v)
				last = v
			}
		}
	}()
	defer enginetest.Pin(1)()
	best := time.Duration(math.MaxInt64)
	for i := range batches {
		begun := time.Now()
		for j := range batch {
			word := uint64(i*batch + j + 1)
			line.ping.Store(word)
			for line.pong.Load() != word {
			}
		}
		best = min(best, time.Since(begun))
	}
	line.ping.Store(end)
	<-ended
	return best
}

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
