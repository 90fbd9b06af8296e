package arena

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

func watchdog(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestBlocksNeverOverlapAndAllPagesComeBack(t *testing.T) {
	const base, pages = 100, 1000 // no power of two
	a := New(base, pages)
	source := rand.New(rand.NewPCG(3, 4))
	owner := make([]bool, pages)
	var out []Block
	for range 20000 {
		if len(out) > 0 && source.IntN(2) == 0 {
			i := source.IntN(len(out))
			b := out[i]
			out[i] = out[len(out)-1]
			out = out[:len(out)-1]
			if source.IntN(3) == 0 {
				before := b.Pages()
				a.Trim(&b, uint32(source.IntN(int(b.Pages())))+1)
				for p := b.Pages(); p < before; p++ {
					owner[b.Page-base+p] = false
				}
			}
			for p := range b.Pages() {
				owner[b.Page-base+p] = false
			}
			a.Free(b)
			continue
		}
		want := uint32(source.IntN(64)) + 1
		b, ok := a.TryAlloc(want)
		if !ok {
			continue
		}
		if b.Pages() < want || !a.Has(b) || b.Page-base+b.Pages() > pages {
			t.Fatalf("block %+v for %d pages", b, want)
		}
		for p := range b.Pages() {
			if owner[b.Page-base+p] {
				t.Fatalf("page %d was given twice", p)
			}
			owner[b.Page-base+p] = true
		}
		out = append(out, b)
	}
	for _, b := range out {
		a.Free(b)
	}
	if blocks, free := a.Usage(); blocks != 0 || free != pages {
		t.Fatalf("%d blocks are out, %d pages free", blocks, free)
	}
	if b, ok := a.TryAlloc(a.Largest()); !ok {
		t.Fatalf("the buddies were not joined: %+v", b)
	}
}

func TestWhatCannotFitIsRefusedAtOnce(t *testing.T) {
	a := New(0, 100)
	for _, pages := range []uint32{0, 65, 1 << 31, 1<<32 - 1} {
		if _, err := a.Alloc(watchdog(t), pages); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d pages: error is %v", pages, err)
		}
	}
}

func TestALargeRequestIsNotOvertakenForEver(t *testing.T) {
	a := New(0, 8)
	small, _ := a.TryAlloc(1)
	got := make(chan Block)
	go func() {
		b, _ := a.Alloc(context.Background(), 8)
		got <- b
	}()
	for waiting(a) < 1 {
		time.Sleep(time.Millisecond)
	}
	if _, ok := a.TryAlloc(1); ok {
		t.Fatal("passed by")
	}
	a.Free(small)
	select {
	case b := <-got:
		if b.Pages() != 8 {
			t.Fatalf("got %d pages", b.Pages())
		}
	case <-watchdog(t).Done():
		t.Fatal("starved")
	}
}

func TestWaitersAreServedInTheirOrder(t *testing.T) {
	a := New(0, 4)
	all, _ := a.TryAlloc(4)
	order := make(chan int, 3)
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			b, err := a.Alloc(context.Background(), 4)
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			a.Free(b)
		})
		for waiting(a) <= i {
			time.Sleep(time.Millisecond)
		}
	}
	a.Free(all)
	group.Wait()
	for i := range 3 {
		if got := <-order; got != i {
			t.Fatalf("waiter %d came at place %d", got, i)
		}
	}
}

func waiting(a *Arena) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue)
}

func TestWhoGivesUpLetsThoseBehindPass(t *testing.T) {
	a := New(0, 8)
	half, _ := a.TryAlloc(4)
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error)
	go func() { _, err := a.Alloc(ctx, 8); first <- err }()
	for waiting(a) < 1 {
		time.Sleep(time.Millisecond)
	}
	second := make(chan error)
	go func() { _, err := a.Alloc(watchdog(t), 1); second <- err }()
	for waiting(a) < 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if err := <-second; err != nil {
		t.Fatalf("who stood behind: %v", err)
	}
	a.Free(half)
}

func TestCloseFailsThoseWhoWaitAndWhoComeLater(t *testing.T) {
	a := New(0, 4)
	block, _ := a.TryAlloc(4)
	reason := errors.New("closed")
	got := make(chan error)
	go func() { _, err := a.Alloc(watchdog(t), 1); got <- err }()
	for waiting(a) < 1 {
		time.Sleep(time.Millisecond)
	}
	a.Close(reason)
	if err := <-got; !errors.Is(err, reason) {
		t.Fatalf("error is %v", err)
	}
	a.Free(block)
	if _, err := a.Alloc(watchdog(t), 1); !errors.Is(err, reason) {
		t.Fatalf("later: error is %v", err)
	}
}

func TestManyGoroutinesGetWhatTheyAskFor(t *testing.T) {
	a := New(0, 64)
	ctx := watchdog(t)
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			source := rand.New(rand.NewPCG(uint64(i), 1))
			for range 500 {
				short, cancel := ctx, context.CancelFunc(func() {})
				if source.IntN(8) == 0 {
					short, cancel = context.WithTimeout(ctx, time.Duration(source.IntN(100))*time.Microsecond)
				}
				b, err := a.Alloc(short, uint32(source.IntN(64))+1)
				if err == nil {
					a.Free(b)
				}
				cancel()
			}
		})
	}
	group.Wait()
	if blocks, free := a.Usage(); blocks != 0 || free != 64 {
		t.Fatalf("%d blocks are out, %d pages free", blocks, free)
	}
}
