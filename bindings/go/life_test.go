package rde

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// frozen is an engine that takes reads and never answers; CANCELs and all else it answers, if awake.
func frozen(t *testing.T, o enginetest.Options) (*enginetest.Engine, *atomic.Uint64) {
	t.Helper()
	cancels := new(atomic.Uint64)
	o.Script = func(_ *enginetest.Conn, r *enginetest.Request) bool {
		if r.Op == layout.OpCancel {
			cancels.Add(1)
		}
		return r.Op == layout.OpObjectRead
	}
	return enginetest.Start(t, o), cancels
}

func TestAFrozenEngineDoesNotHoldTheCallerPastItsDeadline(t *testing.T) {
	e, _ := frozen(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, _, err := c.Read(ctx, 0, object, 0, 100)
	wantStatus(t, err, StatusDeadlineExceeded)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error is %v", err)
	}
	if s := c.Stats(); s.LentBlocks != 1 || s.Outstanding == 0 {
		t.Fatalf("slot and buffer must stay out of use: %+v", s)
	}
}

func TestACancelledContextSendsCancel(t *testing.T) {
	e, cancels := frozen(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(5*time.Millisecond, func() { cancel(io.ErrClosedPipe) })
	_, _, err := c.Read(ctx, 0, object, 0, 100)
	wantStatus(t, err, StatusCancelled)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("error is %v", err)
	}
	eventually(t, "CANCEL arrives", func() bool { return cancels.Load() == 1 })
}

func TestACancelNamesTheRequestOnItsOwnChannel(t *testing.T) {
	type place struct {
		channel uint32
		tag     uint64
	}
	reads, cancels := make(chan place, 1), make(chan place, 1)
	e := enginetest.Start(t, enginetest.Options{Script: func(_ *enginetest.Conn, r *enginetest.Request) bool {
		switch r.Op {
		case layout.OpObjectRead:
			reads <- place{r.Channel, r.Tag}
			return true
		case layout.OpCancel:
			cancels <- place{r.Channel, r.Cancels()}
		}
		return false
	}})
	c := attachTo(t, e, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { time.Sleep(5 * time.Millisecond); cancel() }()
	_, _, _ = c.Read(ctx, 0, object, 0, 100)
	if read, cancelled := <-reads, <-cancels; read != cancelled {
		t.Fatalf("read %+v, cancelled %+v", read, cancelled)
	}
}

func TestAnEndedContextReachesNoRing(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantStatus(t, c.Nop(ctx), StatusCancelled)
	_, _, err := c.Read(ctx, 0, object, 0, 100)
	wantStatus(t, err, StatusCancelled)
	if s := c.Stats(); s.Requests != 0 || s.LentBlocks != 0 {
		t.Fatalf("stats are %+v", s)
	}
}

func TestTheDeadlineGoesToTheEngine(t *testing.T) {
	got := make(chan uint64, 1)
	e := enginetest.Start(t, enginetest.Options{Script: func(_ *enginetest.Conn, r *enginetest.Request) bool {
		if r.Op == layout.OpNop {
			got <- r.DeadlineNS
		}
		return false
	}})
	c := attachTo(t, e, Options{})
	before := enginetest.Monotonic()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := c.Nop(ctx); err != nil {
		t.Fatal(err)
	}
	after := enginetest.Monotonic()
	const slack = uint64(time.Millisecond) // of comparing two clocks
	if d := <-got; d+slack < before+uint64(time.Hour) || d > after+uint64(time.Hour)+slack {
		t.Fatalf("deadline is %d, want %d to %d", d, before+uint64(time.Hour), after+uint64(time.Hour))
	}
}

func TestTheEnginesDeathFailsAllThatIsUnderWay(t *testing.T) {
	e, _ := frozen(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	errs := make(chan error, 10)
	for range 10 {
		go func() {
			_, _, err := c.Read(watchdog(t), 0, object, 0, 100)
			errs <- err
		}()
	}
	eventually(t, "all are under way", func() bool { return c.Stats().Outstanding == 10 })
	e.Kill()
	for range 10 {
		err := <-errs
		wantStatus(t, err, StatusEngineGone)
		var failed *Error
		if !errors.As(err, &failed) || !failed.Status.Retry() {
			t.Fatalf("not retryable: %v", err)
		}
	}
	<-c.Done()
	wantStatus(t, c.Err(), StatusEngineGone)
	wantStatus(t, c.Nop(watchdog(t)), StatusEngineGone)
	if s := c.Stats(); s.LentBlocks != 0 {
		t.Fatalf("stats are %+v", s)
	}
}

func TestTheEnginesDeathFailsThoseWhoWaitForABufferOrACredit(t *testing.T) {
	e, _ := frozen(t, enginetest.Options{Channels: 1, Depth: 8, SegmentSize: 2 << 20})
	c := attachTo(t, e, Options{})
	errs := make(chan error, 30)
	for i := range 30 {
		go func() {
			_, _, err := c.Read(watchdog(t), 0, object, 0, 100+i%2*400000)
			errs <- err
		}()
	}
	time.Sleep(20 * time.Millisecond)
	e.Kill()
	for range 30 {
		wantStatus(t, <-errs, StatusEngineGone)
	}
}

func TestALentBufferOutlivesTheEngineAndTheClient(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	data := noise(5000)
	e.Put(testID(object), enginetest.Object{Data: data})
	c := attachTo(t, e, Options{})
	b, _, err := c.Read(watchdog(t), 0, object, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	e.Kill()
	<-c.Done()
	_ = c.Close()
	if !bytes.Equal(b.Bytes(), data) {
		t.Fatal("other bytes")
	}
	if refs := c.resources.refs.Load(); refs != 1 {
		t.Fatalf("%d users of the mapping, want the buffer alone", refs)
	}
	b.Release()
	if refs := c.resources.refs.Load(); refs != 0 {
		t.Fatalf("%d users of the mapping are left", refs)
	}
}

func TestAReleasedBufferGivesErrDetached(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	e.Put(testID(object), enginetest.Object{Data: noise(100)})
	c := attachTo(t, e, Options{})
	b, _, err := c.Read(watchdog(t), 0, object, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	b.Release()
	if b.Bytes() != nil {
		t.Error("bytes of a released buffer")
	}
	if _, err := b.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrDetached) {
		t.Errorf("ReadAt: %v", err)
	}
	if _, err := b.WriteTo(io.Discard); !errors.Is(err, ErrDetached) {
		t.Errorf("WriteTo: %v", err)
	}
	if s := c.Stats(); s.LentBlocks != 0 {
		t.Errorf("released twice: %+v", s)
	}
}

func TestReleaseWhileAnAccessorIsInsideWaitsForIt(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	data := noise(4096)
	e.Put(testID(object), enginetest.Object{Data: data})
	c := attachTo(t, e, Options{})
	b, _, err := c.Read(watchdog(t), 0, object, 0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.WriteTo(writerFunc(func(p []byte) (int, error) {
		b.Release()
		_ = c.Close()
		if !bytes.Equal(p, data) {
			t.Error("the memory went away under its reader")
		}
		return len(p), nil
	}))
	if err != nil || c.resources.refs.Load() != 0 {
		t.Fatalf("error %v, %d users left", err, c.resources.refs.Load())
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestCloseMayBeCalledTwiceAndFailsTheRest(t *testing.T) {
	e, _ := frozen(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	got := make(chan error)
	go func() { _, _, err := c.Read(watchdog(t), 0, object, 0, 100); got <- err }()
	eventually(t, "the read is under way", func() bool { return c.Stats().Outstanding == 1 })
	_ = c.Close()
	_ = c.Close()
	if err := <-got; !errors.Is(err, ErrDetached) {
		t.Fatalf("error is %v", err)
	}
	wantStatus(t, c.Err(), StatusDetached)
	_ = c.Stats()
}

func TestAttachAndDetachUnderReaders(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{SegmentSize: 2 << 20})
	data := noise(8192)
	e.Put(testID(object), enginetest.Object{Data: data})
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	before := runtime.NumGoroutine()
	for round := range rounds {
		c, err := Attach(watchdog(t), Options{Socket: e.Socket})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				for {
					b, _, err := c.Read(context.Background(), 0, object, 0, 8192)
					if err != nil {
						return
					}
					var copied [8192]byte
					if _, err := b.ReadAt(copied[:], 0); err != nil || !bytes.Equal(copied[:], data) {
						t.Errorf("other bytes, error %v", err)
					}
					b.Release()
				}
			})
		}
		time.Sleep(time.Duration(round%5) * time.Millisecond)
		if round%3 == 0 {
			e.Conns()[round].Kill()
		}
		_ = c.Close()
		group.Wait()
		if refs := c.resources.refs.Load(); refs != 0 {
			t.Fatalf("round %d: %d users of the mapping are left", round, refs)
		}
	}
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func TestNopAllocatesNothing(t *testing.T) {
	if testing.AllocsPerRun(10, func() { args(layout.PingArgs{SentNS: 1}) }) > 0 {
		t.Skip("this build checks pointers, and allocates for that")
	}
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{SpinFor: time.Second})
	ctx := context.Background()
	for range 100 {
		if err := c.Nop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { _ = c.Nop(ctx) }); n >= 1 {
		t.Fatalf("%.2f allocations for each", n)
	}
}

func TestBlockedCallersHoldNoThreads(t *testing.T) {
	e, _ := frozen(t, enginetest.Options{Channels: 4, Depth: 256, SegmentSize: 8 << 20})
	c := attachTo(t, e, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range 700 {
		group.Go(func() { _, _, _ = c.Read(ctx, 0, object, 0, 4096) })
	}
	eventually(t, "all are blocked", func() bool { return c.Stats().Outstanding >= 700 })
	if n := threads(t); n > 50 {
		t.Errorf("%d threads", n)
	}
	cancel()
	group.Wait()
}
