package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

func run(t *testing.T, fake *enginetest.Fake) *engine.Manager {
	t.Helper()
	manager := engine.NewManager(engine.Options{Attach: fake.Attach, FirstBackOff: time.Millisecond, LongestBackOff: 10 * time.Millisecond,
		PingTimeout: 20 * time.Millisecond, ConnectTimeout: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { manager.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return manager
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func TestItAttachesOnceTheEngineTakesIt(t *testing.T) {
	fake := enginetest.New()
	fake.Refuse.Store(true)
	manager := run(t, fake)
	wait(t, "an error", func() bool { return errors.Is(manager.LastError(), rde.StatusAttachRefused) })
	fake.Refuse.Store(false)
	wait(t, "attached", func() bool { return manager.Current() != nil })
	if err := manager.LastError(); err != nil {
		t.Errorf("attached, and still %v", err)
	}
}

func TestEachLifeOfTheEngineIsASessionOfItsOwn(t *testing.T) {
	fake := enginetest.New()
	manager := run(t, fake)
	wait(t, "attached", func() bool { return manager.Current() != nil })
	first := manager.Current()
	fake.Die()
	wait(t, "attached anew", func() bool { session := manager.Current(); return session != nil && session != first })
}

func TestAnEngineThatAnswersNoPingIsOutOfUse(t *testing.T) {
	var frozen atomic.Bool
	fake := enginetest.New()
	fake.OnPing = func(ctx context.Context) error {
		if frozen.Load() {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	manager := run(t, fake)
	wait(t, "attached", func() bool { return manager.Current() != nil })
	session := manager.Current()
	session.Suspect()
	if manager.Current() != session {
		t.Error("a suspicion alone took it out of use")
	}
	frozen.Store(true)
	wait(t, "out of use", func() bool { session.Suspect(); return manager.Current() == nil })
	if manager.LastError() == nil {
		t.Error("no reason is given")
	}
	frozen.Store(false)
	wait(t, "in use again", func() bool { return manager.Current() == session })
}

func TestManyReadersShareOneConnect(t *testing.T) {
	fake := enginetest.New()
	fake.Peers = map[string]*volume.Store{"a:1": volume.Open()}
	manager := run(t, fake)
	wait(t, "attached", func() bool { return manager.Current() != nil })
	session := manager.Current()
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			if peer, err := session.Peer(t.Context(), "a:1"); err != nil || peer == 0 {
				t.Errorf("got %v %v", peer, err)
			}
		})
	}
	readers.Wait()
	if fake.Connects.Load() != 1 {
		t.Errorf("%d connects", fake.Connects.Load())
	}
}

func TestAPeerThatFailedRestsBeforeItIsTriedAgain(t *testing.T) {
	fake := enginetest.New()
	manager := run(t, fake)
	wait(t, "attached", func() bool { return manager.Current() != nil })
	for range 10 {
		if _, err := manager.Current().Peer(t.Context(), "a:1"); !errors.Is(err, rde.StatusPeerUnreachable) {
			t.Fatalf("got %v", err)
		}
	}
	if fake.Connects.Load() != 1 {
		t.Errorf("%d connects", fake.Connects.Load())
	}
}

func TestAHandleIsDroppedOnlyByWhoHadIt(t *testing.T) {
	fake := enginetest.New()
	fake.Peers = map[string]*volume.Store{"a:1": volume.Open()}
	manager := run(t, fake)
	wait(t, "attached", func() bool { return manager.Current() != nil })
	session := manager.Current()
	first, _ := session.Peer(t.Context(), "a:1")
	session.Drop("a:1", first)
	second, _ := session.Peer(t.Context(), "a:1")
	session.Drop("a:1", first) // late: the handle is another by now
	if third, _ := session.Peer(t.Context(), "a:1"); third != second || second == first {
		t.Errorf("handles %d, %d, %d", first, second, third)
	}
}
