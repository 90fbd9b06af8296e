package rde

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/segment"
)

// resources are the mapping and the eventfds. They live until the last user is gone: a channel that is closed and has no
// caller left, the poller, and every block of the arena that is out.
type resources struct {
	refs   atomic.Int64
	memory []byte
	shards []int // eventfd of each shard
}

// ref adds a user; false when it is too late.
func (r *resources) ref() bool {
	for {
		n := r.refs.Load()
		if n <= 0 {
			return false
		}
		if r.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// unref takes a user away. After the last one no pointer into the memory is left.
func (r *resources) unref() {
	if r.refs.Add(-1) != 0 {
		return
	}
	_ = segment.Unmap(r.memory) // fails only for what was never mapped
	for _, fd := range r.shards {
		_ = unix.Close(fd)
	}
}
