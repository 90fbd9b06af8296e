package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

const readLength = 4096

// many reads pieces of an object with many goroutines at once, each one read after another: all reads per second, the
// microseconds of each, the threads that the process has by then, and how many reads the goroutine with the fewest made.
func many(ctx context.Context, client *rde.Client, o options) (map[string][]float64, error) {
	id, err := rde.ParseFileID(o.object)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, time.Duration(o.milliseconds)*time.Millisecond)
	defer stop()
	times := make([][]float64, o.goroutines)
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	begun := time.Now()
	for i := range o.goroutines {
		group.Go(func() {
			var err error
			if times[i], err = readOn(ctx, client, id, o, uint64(i)); err != nil {
				failure.CompareAndSwap(nil, &err)
				stop()
			}
		})
	}
	group.Wait()
	took := time.Since(begun)
	if failure.Load() != nil {
		return nil, *failure.Load()
	}
	return report(times, took)
}

// readOn reads until ctx ends. What the end of ctx cut off does not count.
func readOn(ctx context.Context, client *rde.Client, id rde.FileID, o options, place uint64) ([]float64, error) {
	var times []float64
	places := max(1, uint64(o.bytes)/readLength)
	for ; ; place += uint64(o.goroutines) {
		start := time.Now()
		buffer, _, err := client.Read(ctx, 0, id, place%places*readLength, readLength, rde.SkipCRC())
		if isOver(ctx, time.Now()) {
			if err == nil {
				buffer.Release()
			}
			return times, nil
		}
		if err != nil {
			return nil, err
		}
		buffer.Release()
		times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
	}
}

// isOver says whether ctx has ended, or should have: the engine keeps its deadline too, and may be sooner than ctx's own timer.
func isOver(ctx context.Context, now time.Time) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && !now.Before(deadline)
}

func report(times [][]float64, took time.Duration) (map[string][]float64, error) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, err
	}
	all := make([]float64, 0, 1<<16)
	fewest := len(times[0])
	for _, mine := range times {
		all = append(all, mine...)
		fewest = min(fewest, len(mine))
	}
	if len(all) == 0 {
		return nil, errors.New("no read ended in time")
	}
	return map[string][]float64{"rate": {float64(len(all)) / took.Seconds()}, "samples": all,
		"threads": {float64(len(threads))}, "fewest": {float64(fewest)}}, nil
}

// keepBusy computes on n goroutines until ctx ends.
func keepBusy(ctx context.Context, n int) {
	for range n {
		go func() {
			for x := uint64(1); ctx.Err() == nil; {
				for range 10_000 {
					x = x*6364136223846793005 + 1442695040888963407
				}
			}
		}()
	}
}
