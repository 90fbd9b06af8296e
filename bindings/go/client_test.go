package rde

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
)

var object = FileID{Volume: 3, Needle: 1, Cookie: 0x637037d6}

func testID(id FileID) enginetest.ID { return enginetest.ID(id) }

// watchdog bounds what could hang.
func watchdog(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func attachTo(t testing.TB, e *enginetest.Engine, o Options) *Client {
	t.Helper()
	o.Socket = e.Socket
	c, err := Attach(watchdog(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return b
}

func wantStatus(t testing.TB, err error, want Status) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestNopComesBack(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	for range 1000 {
		if err := c.Nop(watchdog(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnEngineThatSleptIsWoken(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{SpinFor: -1})
	for range 20 {
		time.Sleep(2 * time.Millisecond)
		if err := c.Nop(watchdog(t)); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.LateWakeups != 0 || s.EngineWakes == 0 {
		t.Fatalf("late wake-ups %d, engine wakes %d", s.LateWakeups, s.EngineWakes)
	}
}

func TestReadGivesTheStoredBytes(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	data := noise(10000)
	e.Put(testID(object), enginetest.Object{Data: data})
	c := attachTo(t, e, Options{})
	b, info, err := c.Read(watchdog(t), 0, object, 100, 5000)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if !bytes.Equal(b.Bytes(), data[100:5100]) || info.ObjectSize != 10000 || info.End || !info.Local {
		t.Fatalf("wrong answer: %+v", info)
	}
}

func TestManyGoroutinesShareFewChannels(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	data := noise(3000)
	e.Put(testID(object), enginetest.Object{Data: data})
	c := attachTo(t, e, Options{})
	ctx := watchdog(t)
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			for range 50 {
				b, _, err := c.Read(ctx, 0, object, 0, 4096)
				if err != nil {
					t.Error(err)
					return
				}
				if !bytes.Equal(b.Bytes(), data) {
					t.Error("other bytes")
				}
				b.Release()
			}
		})
	}
	group.Wait()
	if s := c.Stats(); s.LentBlocks != 0 || s.Outstanding != 0 || s.LateWakeups != 0 {
		t.Fatalf("left over: %+v", s)
	}
}
