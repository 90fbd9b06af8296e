package rde

import (
	"testing"
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
	c := &Client{log: (&Options{}).logger(), done: make(chan struct{}), spin: newSpinPolicy(0),
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
	h.completions.Write((*ring.Completion)(unsafe.Pointer(c)))
}
