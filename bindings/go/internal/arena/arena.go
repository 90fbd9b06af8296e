// Package arena hands out pages of a segment's arena: a buddy allocator that waits in line when it is empty.
//
//	a := arena.New(0, pages)
//	block, err := a.Alloc(ctx, 256)      // 256 pages; waits for its turn
//	a.Trim(&block, 3)                    // the answer was shorter
//	a.Free(block)
//
// All state is private memory: nothing that another process writes is ever read. Any goroutine may use an Arena.
package arena

import (
	"context"
	"errors"
	"math/bits"
	"sync"
)

// ErrTooLarge is for a block that the arena could never hold.
var ErrTooLarge = errors.New("larger than the largest block of the arena")

const none = -1

// Block is a run of pages. The zero Block is no block.
type Block struct {
	Page  uint32
	order uint8
	valid bool
}

// Pages is how many pages the block has, a power of two; 0 for no block.
func (b Block) Pages() uint32 {
	if !b.valid {
		return 0
	}
	return 1 << b.order
}

// Arena is the allocator.
type Arena struct {
	mu     sync.Mutex
	free   []int32 // first free block of each order, or none
	next   []int32 // by page: list of free blocks of an order
	prev   []int32
	order  []int8 // by page: order of the free block that starts here, or none
	base   uint32
	pages  uint32
	unused uint32
	blocks int
	queue  []*waiter
	closed error
}

type waiter struct {
	order uint8
	got   Block
	err   error
	done  chan struct{}
}

// New makes an arena of pages that are all free; the first has number base.
func New(base, pages uint32) *Arena {
	a := &Arena{next: make([]int32, pages), prev: make([]int32, pages), order: make([]int8, pages), base: base, pages: pages}
	a.free = make([]int32, bits.Len32(pages))
	for i := range a.free {
		a.free[i] = none
	}
	for i := range a.order {
		a.order[i] = none
	}
	// Blocks lie at multiples of their size, so a pages count that is no power of two starts as several.
	for at := uint32(0); at < pages; {
		order := bits.Len32(pages-at) - 1
		if at != 0 {
			order = min(order, bits.TrailingZeros32(at))
		}
		a.push(int32(at), uint8(order))
		at += 1 << order
	}
	a.unused = pages
	return a
}

// Largest is the size of the largest block, in pages.
func (a *Arena) Largest() uint32 { return 1 << (bits.Len32(a.pages) - 1) }

// Alloc gives at least so many pages, rounded up to a power of two. It waits behind those who came before, until ctx ends.
// Errors: ErrTooLarge, the context's, or what Close was given.
func (a *Arena) Alloc(ctx context.Context, pages uint32) (Block, error) {
	if pages == 0 || pages > a.Largest() {
		return Block{}, ErrTooLarge
	}
	order := orderOf(pages)
	a.mu.Lock()
	if a.closed != nil {
		defer a.mu.Unlock()
		return Block{}, a.closed
	}
	if len(a.queue) == 0 {
		if b, ok := a.take(order); ok {
			a.mu.Unlock()
			return b, nil
		}
	}
	w := &waiter{order: order, done: make(chan struct{})}
	a.queue = append(a.queue, w)
	a.mu.Unlock()
	select {
	case <-w.done:
		return w.got, w.err
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, other := range a.queue {
		if other == w {
			a.queue = append(a.queue[:i], a.queue[i+1:]...)
			a.serve() // who stood behind a large one may fit
			return Block{}, ctx.Err()
		}
	}
	if w.err == nil {
		a.put(w.got)
	}
	return Block{}, ctx.Err()
}

// Has says whether a block is of this arena.
func (a *Arena) Has(b Block) bool { return b.valid && b.Page-a.base < a.pages }

// TryAlloc is Alloc that does not wait and does not pass those who do.
func (a *Arena) TryAlloc(pages uint32) (Block, bool) {
	if pages == 0 || pages > a.Largest() {
		return Block{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed != nil || len(a.queue) != 0 {
		return Block{}, false
	}
	return a.take(orderOf(pages))
}

// Free gives a block back. No block is a no-op.
func (a *Arena) Free(b Block) {
	if !b.valid {
		return
	}
	a.mu.Lock()
	a.put(b)
	a.mu.Unlock()
}

// Trim gives back what lies behind the first so many pages, as far as whole buddies allow.
func (a *Arena) Trim(b *Block, pages uint32) {
	order := orderOf(max(pages, 1))
	if !b.valid || order >= b.order {
		return
	}
	a.mu.Lock()
	for b.order > order {
		b.order--
		a.unused += 1 << b.order
		a.push(int32(b.Page-a.base+1<<b.order), b.order)
	}
	a.serve()
	a.mu.Unlock()
}

// Close fails those who wait, and all who come later.
func (a *Arena) Close(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed != nil {
		return
	}
	a.closed = err
	for _, w := range a.queue {
		w.err = err
		close(w.done)
	}
	a.queue = nil
}

// Usage is the number of blocks out, and of pages that are free.
func (a *Arena) Usage() (blocks int, freePages uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.blocks, a.unused
}

func orderOf(pages uint32) uint8 { return uint8(bits.Len32(pages - 1)) }
