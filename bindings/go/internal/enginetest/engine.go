// Package enginetest is an engine for tests: it attaches clients over a real socket, with a real memfd, and serves their rings
// from this process. A script can make it break every rule.
//
//	engine := enginetest.Start(t, enginetest.Options{})
//	engine.Put(enginetest.ID{Volume: 3, Needle: 1, Cookie: 5}, enginetest.Object{Data: data})
//	client, err := rde.Attach(ctx, rde.Options{Socket: engine.Socket})
package enginetest

import (
	"cmp"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/attach"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Options of an engine. Zero values mean small defaults.
type Options struct {
	Channels, Depth, Shards uint32
	SegmentSize             uint64
	// Script sees each request first, on the client's own goroutine, and may keep a copy. False leaves it to the engine.
	Script func(c *Conn, r *Request) bool
	// Hello may refuse.
	Hello func(h *layout.AttachHello) *layout.AttachRefused
	// The rest changes what is sent, or what lies in the segment.
	Welcome  func(w *layout.AttachWelcome)
	Header   func(h *layout.SegmentHeader)
	Memory   func(memory []byte)
	Unsealed bool
	// Core is where the engine polls without a pause, counted from 1; 0 lets it yield and sleep.
	Core int
	// Drop the descriptors behind so many.
	Descriptors int
	// HangUp closes the connection before this message type.
	HangUp uint16
	// Silent never answers from this message type on.
	Silent uint16
}

// Engine listens until the test ends.
type Engine struct {
	Socket   string
	options  Options
	listener *net.UnixListener

	mu      sync.Mutex
	objects map[ID]Object
	conns   []*Conn
	number  uint64
	closed  bool
	running sync.WaitGroup
}

// Start is Open for a test, which closes it when it ends.
func Start(tb testing.TB, o Options) *Engine {
	tb.Helper()
	e, err := Open(tb.TempDir(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// Open listens on a socket in a folder.
func Open(folder string, o Options) (*Engine, error) {
	o.Channels, o.Depth, o.Shards = cmp.Or(o.Channels, 2), cmp.Or(o.Depth, 16), cmp.Or(o.Shards, 1)
	o.SegmentSize = cmp.Or(o.SegmentSize, 4<<20)
	e := &Engine{Socket: filepath.Join(folder, "e.sock"), options: o, objects: map[ID]Object{}}
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: e.Socket, Net: "unixpacket"})
	if err != nil {
		return nil, err
	}
	e.listener = listener
	e.running.Add(1)
	go e.accept(listener)
	return e, nil
}

// Close ends the engine, and waits until nothing of it is left.
func (e *Engine) Close() {
	_ = e.listener.Close()
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.Kill()
	e.running.Wait()
}

// Kill ends every attachment, as the death of an engine would.
func (e *Engine) Kill() {
	for _, c := range e.Conns() {
		c.Kill()
	}
}

// Conns are the attachments so far, in their order.
func (e *Engine) Conns() []*Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*Conn(nil), e.conns...)
}

func (e *Engine) accept(listener *net.UnixListener) {
	defer e.running.Done()
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		e.running.Add(1)
		go func() {
			defer e.running.Done()
			defer func() { _ = conn.Close() }()
			if c := e.attach(conn); c != nil {
				c.serve()
			}
		}()
	}
}

// attach speaks the engine's side of the protocol; nil where it came to nothing.
func (e *Engine) attach(conn *net.UnixConn) *Conn {
	var hello layout.AttachHello
	if _, err := conn.Read(attach.Bytes(&hello)); err != nil || e.options.HangUp == layout.AttachTypeWelcome {
		return nil
	}
	if e.options.Hello != nil {
		if refused := e.options.Hello(&hello); refused != nil {
			_, _ = conn.Write(attach.Bytes(refused))
			return nil
		}
	}
	if e.options.Silent == layout.AttachTypeWelcome {
		e.await(conn)
		return nil
	}
	c, fds, err := e.open(conn)
	if err != nil {
		return nil
	}
	w := layout.AttachWelcome{Magic: layout.AttachMagic, Type: layout.AttachTypeWelcome, Size: layout.AttachWelcomeSize,
		LayoutHash: layout.Hash, ABIMajor: layout.ABIMajor, ABIMinor: layout.ABIMinor, Descriptors: uint32(len(fds)),
		TotalSize: e.options.SegmentSize, Epoch: c.header.Epoch, ClientNumber: c.header.ClientNumber}
	copy(w.Version[:], "test")
	if e.options.Welcome != nil {
		e.options.Welcome(&w)
	}
	if e.options.Descriptors > 0 {
		fds = fds[:e.options.Descriptors]
	}
	_, _, err = conn.WriteMsgUnix(attach.Bytes(&w), unix.UnixRights(fds...), nil)
	_ = unix.Close(c.sentWake)
	var mapped layout.AttachSignal
	if err == nil {
		_, err = conn.Read(attach.Bytes(&mapped))
	}
	if err != nil || mapped.Type != layout.AttachTypeMapped || e.options.HangUp == layout.AttachTypeAttached {
		c.close()
		return nil
	}
	if e.options.Silent == layout.AttachTypeAttached {
		e.await(conn)
		c.close()
		return nil
	}
	e.mu.Lock()
	closed := e.closed
	e.conns = append(e.conns, c)
	e.mu.Unlock()
	if closed {
		c.Kill()
	}
	attached := layout.AttachSignal{Magic: layout.AttachMagic, Type: layout.AttachTypeAttached, Size: layout.AttachSignalSize}
	_, _ = conn.Write(attach.Bytes(&attached))
	return c
}

func (e *Engine) await(conn *net.UnixConn) {
	var b [64]byte
	_, _ = conn.Read(b[:])
}
