package rde

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

func TestAllCreditsGoneEndsWithTheContext(t *testing.T) {
	e, _ := frozen(t, enginetest.Options{Channels: 1, Depth: 8})
	c := attachTo(t, e, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			_, _, err := c.Read(ctx, 0, object, 0, 100)
			wantStatus(t, err, StatusDeadlineExceeded)
		})
	}
	group.Wait()
	if s := c.Stats(); s.Requests > 8+40 || s.Outstanding > 8 {
		t.Fatalf("the ring was overrun: %+v", s)
	}
}

// At every moment the client keeps the rule that no slot is overwritten and every completion has a slot.
func TestCreditsAreNeverOverdrawn(t *testing.T) {
	for _, depth := range []uint32{2, 4, 8, 64} {
		var mu sync.Mutex
		held, quarantined := 0, 0
		e := enginetest.Start(t, enginetest.Options{Channels: 1, Depth: depth, Script: func(c *enginetest.Conn, r *enginetest.Request) bool {
			mu.Lock()
			held++
			if held > int(depth) || 2*held+quarantined > 4*int(depth)+2 {
				t.Errorf("depth %d: %d under way, %d in quarantine", depth, held, quarantined)
			}
			mu.Unlock()
			request := *r
			more := r.Op == layout.OpObjectRead && r.Tag%3 == 0
			time.AfterFunc(time.Duration(r.Tag%7)*100*time.Microsecond, func() {
				done := layout.Completion{Tag: request.Tag, Status: 201}
				if more {
					done.Flags = layout.CompletionFlagMore
				}
				mu.Lock()
				held--
				if more {
					quarantined++
				}
				mu.Unlock()
				c.Complete(request.Channel, done)
				if more {
					time.AfterFunc(300*time.Microsecond, func() {
						mu.Lock()
						quarantined--
						mu.Unlock()
						c.Complete(request.Channel, layout.Completion{Tag: request.Tag, Flags: layout.CompletionFlagBufferFree})
					})
				}
			})
			return true
		}})
		c := attachTo(t, e, Options{})
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				for j := range 20 {
					ctx, cancel := watchdog(t), context.CancelFunc(func() {})
					if (i+j)%4 == 0 {
						ctx, cancel = context.WithTimeout(ctx, 200*time.Microsecond)
					}
					if _, _, err := c.Read(ctx, 0, object, 0, 100); err == nil {
						t.Error("a read of nothing gave bytes")
					}
					cancel()
				}
			})
		}
		group.Wait()
		eventually(t, "everything comes back", func() bool {
			s := c.Stats()
			return s.Outstanding == 0 && s.Quarantined == 0 && s.LentBlocks == 0
		})
	}
}

func TestWithoutADeadlineTheClientsOwnEndsTheWait(t *testing.T) {
	e, cancels := frozen(t, enginetest.Options{Channels: 1, Depth: 8})
	c := attachTo(t, e, Options{})
	c.patience = -margin + 5*time.Millisecond // the request's deadline and the margin
	_, _, err := c.Read(context.Background(), 0, object, 0, 100)
	wantStatus(t, err, StatusDeadlineExceeded)
	eventually(t, "CANCEL arrives", func() bool { return cancels.Load() == 1 })
}

func TestARingThatStaysFullSaysSo(t *testing.T) {
	e, _ := frozen(t, enginetest.Options{Channels: 1, Depth: 2})
	c := attachTo(t, e, Options{})
	c.patience = time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { _, _, _ = c.Read(ctx, 0, object, 0, 100) })
	}
	eventually(t, "the ring is full", func() bool { return c.Stats().Outstanding == 2 })
	wantStatus(t, c.Nop(context.Background()), StatusRingFull)
	cancel()
	group.Wait()
}

func TestAnArenaThatStaysEmptySaysSo(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	e.Put(testID(object), enginetest.Object{Data: noise(100)})
	c := attachTo(t, e, Options{})
	for ok := true; ok; {
		_, ok = c.arena.TryAlloc(1)
	}
	c.patience = time.Millisecond
	_, _, err := c.Read(context.Background(), 0, object, 0, 100)
	wantStatus(t, err, StatusOutOfBuffers)
	if _, err := c.Stat(context.Background(), 0, object); err != nil {
		t.Fatalf("a stat needs no data buffer: %v", err)
	}
}
