package rde

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// scripted attaches to an engine that answers reads with f and everything else as it should.
func scripted(t *testing.T, f func(c *enginetest.Conn, r *enginetest.Request)) (*enginetest.Engine, *Client) {
	t.Helper()
	e := enginetest.Start(t, enginetest.Options{Script: func(c *enginetest.Conn, r *enginetest.Request) bool {
		if r.Op != layout.OpObjectRead {
			return false
		}
		f(c, r)
		return true
	}})
	return e, attachTo(t, e, Options{})
}

// brokenBy reads from an engine that breaks a rule, and wants the client detached.
func brokenBy(t *testing.T, f func(c *enginetest.Conn, r *enginetest.Request)) {
	t.Helper()
	_, c := scripted(t, f)
	_, _, err := c.Read(watchdog(t), 0, object, 0, 100)
	wantStatus(t, err, StatusEngineBroken)
	select {
	case <-c.Done():
	case <-watchdog(t).Done():
		t.Fatal("the client goes on")
	}
	wantStatus(t, c.Err(), StatusEngineBroken)
	wantStatus(t, c.Nop(watchdog(t)), StatusEngineBroken)
}

func TestATagThatWasNeverGivenBreaksTheEngine(t *testing.T) {
	for _, tag := range []uint64{0, 1, 1<<32 | 79, 1<<32 | 80, 1 << 63, ^uint64(0)} {
		brokenBy(t, func(c *enginetest.Conn, r *enginetest.Request) {
			if tag == r.Tag {
				tag = ^tag
			}
			c.Complete(r.Channel, layout.Completion{Tag: tag})
		})
	}
}

func TestATagOfAnotherChannelBreaksTheEngine(t *testing.T) {
	brokenBy(t, func(c *enginetest.Conn, r *enginetest.Request) {
		c.Complete(1-r.Channel, layout.Completion{Tag: r.Tag})
	})
}

func TestASecondAnswerBreaksTheEngineAndIsNotHandedOut(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{Channels: 1, Script: func(c *enginetest.Conn, r *enginetest.Request) bool {
		if r.Op == layout.OpNop {
			c.Complete(r.Channel, layout.Completion{Tag: r.Tag})
			c.Complete(r.Channel, layout.Completion{Tag: r.Tag})
			return true
		}
		return false
	}})
	c := attachTo(t, e, Options{})
	for {
		if err := c.Nop(watchdog(t)); err != nil {
			wantStatus(t, err, StatusEngineBroken)
			return
		}
	}
}

func TestBufferFreeWithoutAnAnswerBreaksTheEngine(t *testing.T) {
	brokenBy(t, func(c *enginetest.Conn, r *enginetest.Request) {
		c.Complete(r.Channel, layout.Completion{Tag: r.Tag, Flags: layout.CompletionFlagBufferFree})
	})
}

func TestASecondMoreBreaksTheEngine(t *testing.T) {
	_, c := scripted(t, func(c *enginetest.Conn, r *enginetest.Request) {
		c.Complete(r.Channel, layout.Completion{Tag: r.Tag, Status: 601, Flags: layout.CompletionFlagMore})
		c.Complete(r.Channel, layout.Completion{Tag: r.Tag, Status: 601, Flags: layout.CompletionFlagMore})
	})
	_, _, err := c.Read(watchdog(t), 0, object, 0, 100)
	if err == nil {
		t.Fatal("a failed read gave bytes")
	}
	<-c.Done()
	wantStatus(t, c.Err(), StatusEngineBroken)
}

func TestBytesOverTheLengthAreClamped(t *testing.T) {
	_, c := scripted(t, func(c *enginetest.Conn, r *enginetest.Request) {
		c.Complete(r.Channel, layout.Completion{Tag: r.Tag, Bytes: 1<<32 - 1, Value: 1 << 40})
	})
	b, info, err := c.Read(watchdog(t), 0, object, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if info.Bytes != 100 || len(b.Bytes()) != 100 || cap(b.Bytes()) != 100 {
		t.Fatalf("%d bytes, a slice of %d to %d", info.Bytes, len(b.Bytes()), cap(b.Bytes()))
	}
}

func TestAnAnswerThatContradictsItselfIsRefused(t *testing.T) {
	for name, done := range map[string]layout.Completion{
		"more bytes than the object has":         {Bytes: 100, Value: 50, Flags: layout.CompletionFlagEnd},
		"fewer bytes, and not the end":           {Bytes: 10, Value: 1000},
		"the end that is not":                    {Bytes: 100, Value: 1000, Flags: layout.CompletionFlagEnd},
		"not the end that is":                    {Bytes: 100, Value: 100},
		"a size over 2^63":                       {Bytes: 100, Value: 1 << 63},
		"an offset behind the end":               {Bytes: 0, Value: 0},
		"nothing of an object that is":           {Bytes: 0, Value: 10},
		"a good answer whose buffer is not free": {Bytes: 100, Value: 100, Flags: layout.CompletionFlagEnd | layout.CompletionFlagMore},
	} {
		_, c := scripted(t, func(c *enginetest.Conn, r *enginetest.Request) {
			answer := done
			answer.Tag = r.Tag
			c.Complete(r.Channel, answer)
		})
		b, _, err := c.Read(watchdog(t), 0, object, 0, 100)
		if b != nil || !errors.Is(err, StatusEngineBroken) {
			t.Errorf("%s: error is %v", name, err)
		}
		if err := c.Nop(watchdog(t)); err != nil {
			t.Errorf("%s: the client does not go on: %v", name, err)
		}
	}
}

func TestAStatWithLengthsThatLieIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		stat  layout.ObjectStat
		bytes uint32
	}{
		"short":                    {layout.ObjectStat{}, 63},
		"nothing":                  {layout.ObjectStat{}, 0},
		"a mime behind the end":    {layout.ObjectStat{MimeLength: 1}, 64},
		"a name behind the end":    {layout.ObjectStat{NameLength: 65535}, 500},
		"both behind the end":      {layout.ObjectStat{MimeLength: 65535, NameLength: 65535}, 574},
		"a size over 2^63":         {layout.ObjectStat{StoredSize: 1 << 63}, 64},
		"more bytes than a buffer": {layout.ObjectStat{MimeLength: 60000}, 1<<32 - 1},
	} {
		e := enginetest.Start(t, enginetest.Options{Script: func(conn *enginetest.Conn, r *enginetest.Request) bool {
			if r.Op != layout.OpObjectStat {
				return false
			}
			copy(conn.Buffer(r), enginetest.Bytes(&c.stat))
			conn.Complete(r.Channel, layout.Completion{Tag: r.Tag, Bytes: c.bytes})
			return true
		}})
		if _, err := attachTo(t, e, Options{}).Stat(watchdog(t), 0, object); !errors.Is(err, StatusEngineBroken) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestAMessageAfterTheAttachBreaksTheEngine(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	e.Conns()[0].Say([]byte("hello"))
	select {
	case <-c.Done():
		wantStatus(t, c.Err(), StatusEngineBroken)
	case <-watchdog(t).Done():
		t.Fatal("it went unnoticed")
	}
}

// The engine of this test writes noise over everything but the header, all the time. Requests may fail; nothing else may happen.
func TestNoiseInTheSegmentHarmsNobody(t *testing.T) {
	for seed := range uint64(8) {
		e := enginetest.Start(t, enginetest.Options{SegmentSize: 2 << 20})
		c := attachTo(t, e, Options{})
		conn := e.Conns()[0]
		stop := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			source := rand.New(rand.NewPCG(seed, 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn.Late(func() {
					memory := conn.Memory()
					for range 100 {
						at := layout.HeaderBytes + source.IntN(64<<10)
						memory[at] = byte(source.Uint32())
					}
				})
				time.Sleep(time.Microsecond)
			}
		})
		for range 8 {
			group.Go(func() {
				for range 20 {
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
					b, _, err := c.Read(ctx, 0, object, 0, 4096)
					if err == nil {
						b.Release()
					}
					_, _ = c.Stat(ctx, 0, object)
					cancel()
				}
			})
		}
		time.Sleep(150 * time.Millisecond)
		close(stop)
		group.Wait()
		_ = c.Close()
	}
}

func TestAFaultedChannelIsNotUsedAnyMore(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	fault := func(channel uint32) {
		lines := e.Conns()[0].Lines(channel)
		atomic.StoreUint32(&lines.FaultStatus, 111)
		atomic.StoreUint32(&lines.State, layout.ChannelStateFaulted)
	}
	fault(0)
	for range 100 {
		if err := c.Nop(watchdog(t)); err != nil {
			t.Fatal(err)
		}
	}
	fault(1)
	wantStatus(t, c.Nop(watchdog(t)), StatusRingBroken)
}

// What a late transfer writes into a buffer that was given up is never seen by anyone.
func TestABufferInQuarantineIsNotUsedUntilItIsFree(t *testing.T) {
	var late sync.Once
	freed := make(chan struct{})
	data := noise(4096)
	e := enginetest.Start(t, enginetest.Options{SegmentSize: 2 << 20, Script: func(c *enginetest.Conn, r *enginetest.Request) bool {
		first := false
		if r.Op == layout.OpObjectRead {
			late.Do(func() { first = true })
		}
		if !first {
			return false
		}
		c.Complete(r.Channel, layout.Completion{Tag: r.Tag, Status: 601, Flags: layout.CompletionFlagMore})
		request := *r
		time.AfterFunc(100*time.Millisecond, func() {
			c.Late(func() {
				buffer := c.Buffer(&request)
				for i := range buffer {
					buffer[i] = 0xEE
				}
			})
			c.Complete(request.Channel, layout.Completion{Tag: request.Tag, Flags: layout.CompletionFlagBufferFree})
			close(freed)
		})
		return true
	}})
	e.Put(testID(object), enginetest.Object{Data: data})
	c := attachTo(t, e, Options{})
	_, _, err := c.Read(watchdog(t), 0, object, 0, 4096)
	wantStatus(t, err, StatusDeadlineExceeded)
	if s := c.Stats(); s.Quarantined != 1 || s.LentBlocks != 1 {
		t.Fatalf("stats are %+v", s)
	}
	for {
		b, _, err := c.Read(watchdog(t), 0, object, 0, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), data) {
			t.Fatal("the late transfer reached another read")
		}
		b.Release()
		select {
		case <-freed:
			eventually(t, "the buffer comes back", func() bool { s := c.Stats(); return s.Quarantined == 0 && s.LentBlocks == 0 })
			return
		default:
		}
	}
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
