package rde

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/ring"
)

// heapClient is a client whose segment lies on the heap, where the race detector sees every access, and whose rings start at any
// position. It has no sockets; the test is its engine.
type heapClient struct {
	*Client
	requests    *ring.RequestReader
	completions *ring.CompletionWriter
}

func newHeapClient(t testing.TB, depth uint32, start uint64) *heapClient {
	t.Helper()
	header := enginetest.Plan(enginetest.Options{Channels: 1, Depth: depth, Shards: 1, SegmentSize: 2 << 20}, 1)
	memory := make([]byte, header.TotalSize)
	c := &Client{log: (&Options{}).logger(), done: make(chan struct{}), spin: newSpinPolicy(0), patience: time.Minute,
		resources: &resources{memory: memory, shards: []int{-1}}}
	c.resources.refs.Store(1 << 20) // never unmapped
	var err error
	if c.clock, err = newClock(); err != nil {
		t.Fatal(err)
	}
	if err := c.lay(memory, header, start); err != nil {
		t.Fatal(err)
	}
	_, requests, completions, err := c.view.Channel(0)
	if err != nil {
		t.Fatal(err)
	}
	h := &heapClient{Client: c}
	if h.requests, err = ring.NewRequestReader(requests, depth, start); err != nil {
		t.Fatal(err)
	}
	if h.completions, err = ring.NewCompletionWriter(completions, header.CompletionDepth, start); err != nil {
		t.Fatal(err)
	}
	return h
}

// next takes a request as the engine.
func (h *heapClient) next(r *layout.Request) bool {
	return h.requests.Read((*ring.Request)(unsafe.Pointer(r)))
}

// complete answers as the engine.
func (h *heapClient) complete(c *layout.Completion) {
	h.completions.Write(*(*ring.Completion)(unsafe.Pointer(c)))
}

// serve answers NOPs until the client is done, and fails the test on anything that is not one.
func (h *heapClient) serve(t *testing.T, stop <-chan struct{}) {
	for {
		var r layout.Request
		if !h.next(&r) {
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
				continue
			}
		}
		if r.Op != layout.OpNop || r.Reserved != 0 {
			t.Errorf("request is %+v", r)
		}
		h.complete(&layout.Completion{Tag: r.Tag})
	}
}

func TestRingsGoOnPastEveryWrap(t *testing.T) {
	// Whole laps before the edge: memory that was never written holds lap 0.
	for _, start := range []uint64{0, 1<<31 - 2048, 1<<32 - 2048, 1<<33 - 2048, 1<<38 - 2048, math.MaxUint64 - 2047} {
		for _, depth := range []uint32{2, 64, 256} {
			h := newHeapClient(t, depth, start)
			stop := make(chan struct{})
			var engine, callers sync.WaitGroup
			engine.Go(func() { h.serve(t, stop) })
			ctx := watchdog(t)
			for range 8 {
				callers.Go(func() {
					for range 300 {
						if err := h.spinNop(ctx); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			callers.Wait()
			close(stop)
			engine.Wait()
			if got := h.channels[0].requests.Position() - start; got < 2400 {
				t.Fatalf("start %#x, depth %d: %d requests", start, depth, got)
			}
		}
	}
}

// spinNop is Nop for a client without a poller: nobody blocks.
func (h *heapClient) spinNop(ctx context.Context) error {
	r := layout.Request{Op: layout.OpNop}
	o, failed := h.begin(ctx, &r, noBlock, false, false)
	if failed != nil {
		return failed
	}
	for {
		out, at, ok := h.look(o.ch, o.e, o.at)
		o.at = at
		if ok {
			_, err := h.conclude("nop", out, noBlock)
			return err
		}
		runtime.Gosched()
	}
}

func TestAGenerationThatWrapsNamesNoOldRequest(t *testing.T) {
	h := newHeapClient(t, 2, 0)
	ch := h.channels[0]
	for i := range ch.entries {
		ch.entries[i].tag = 0xFFFFFFFF << 32
	}
	var r layout.Request
	for range 3 {
		o, failed := h.begin(context.Background(), &layout.Request{Op: layout.OpNop}, noBlock, true, false)
		if failed != nil || !h.next(&r) {
			t.Fatal("not submitted", failed)
		}
		if uint32(r.Tag) != o.e.index {
			t.Fatalf("tag is %#x of entry %d", r.Tag, o.e.index)
		}
		h.complete(&layout.Completion{Tag: r.Tag})
		if out := h.await(context.Background(), o); out.err != nil {
			t.Fatal(out.err)
		}
	}
}
