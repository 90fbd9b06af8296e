package enginetest

import (
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/doorbell"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/ring"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/segment"
)

// Request is a request that was taken.
type Request struct {
	Channel uint32
	layout.Request
}

// Object reads the object arguments.
func (r *Request) Object() layout.ObjectArgs {
	return *(*layout.ObjectArgs)(unsafe.Pointer(&r.Args))
}

// Cancels is the tag that a CANCEL names.
func (r *Request) Cancels() uint64 { return (*layout.CancelArgs)(unsafe.Pointer(&r.Args)).Tag }

// Conn is one attachment.
type Conn struct {
	Engine   *Engine
	Received atomic.Uint64 // requests taken
	Blocks   atomic.Uint64 // times that the engine slept

	socket    *net.UnixConn
	header    layout.SegmentHeader
	view      *segment.View
	memory    []byte
	fds       []int    // segment and eventfds
	bell      *os.File // of the shard
	wake      int      // the engine's end
	sentWake  int
	lines     []*layout.ChannelLines
	requests  []*ring.RequestReader
	taken     Request // the one that is served
	sleeper   *doorbell.Sleeper
	ringer    *doorbell.Ringer
	mu        sync.Mutex // of writers
	answers   []*ring.CompletionWriter
	dead      atomic.Bool
	destroyed bool

	sessionOpen bool
}

// open makes a segment with everything in it.
func (e *Engine) open(socket *net.UnixConn) (*Conn, []int, error) {
	e.mu.Lock()
	e.number++
	number := e.number
	e.mu.Unlock()
	c := &Conn{Engine: e, socket: socket, header: Plan(e.options, number)}
	fd, err := unix.MemfdCreate("rdma-engine-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Ftruncate(fd, int64(c.header.TotalSize)); err != nil {
		return nil, nil, err
	}
	if !e.options.Unsealed {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
			return nil, nil, err
		}
	}
	if c.memory, err = unix.Mmap(fd, 0, int(c.header.TotalSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, nil, err
	}
	if err := c.lay(); err != nil {
		return nil, nil, err
	}
	sent := c.header
	if e.options.Header != nil {
		e.options.Header(&sent)
	}
	copy(c.memory, Bytes(&sent))
	if e.options.Memory != nil {
		e.options.Memory(c.memory)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	c.wake, c.sentWake = pair[0], pair[1]
	c.fds = []int{fd}
	fds := []int{fd, c.sentWake}
	for range c.header.ShardCount {
		event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return nil, nil, err
		}
		c.fds = append(c.fds, event)
		fds = append(fds, event)
	}
	own, err := unix.FcntlInt(uintptr(fds[2]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	c.bell = os.NewFile(uintptr(own), "eventfd")
	return c, fds, nil
}

func (c *Conn) lay() (err error) {
	if c.view, err = segment.NewView(c.memory, c.header); err != nil {
		return err
	}
	shard, err := c.view.Doorbell(0) // the loop serves all channels as shard 0
	if err != nil {
		return err
	}
	client, err := c.view.Doorbell(c.header.ShardCount)
	if err != nil {
		return err
	}
	c.sleeper, c.ringer = doorbell.NewSleeper(shard, c.header.ChannelCount), doorbell.NewRinger(client)
	for i := range c.header.ChannelCount {
		lines, requests, completions, err := c.view.Channel(i)
		if err != nil {
			return err
		}
		reader, err := ring.NewRequestReader(requests, c.header.Depth, 0)
		if err != nil {
			return err
		}
		writer, err := ring.NewCompletionWriter(completions, c.header.CompletionDepth, 0)
		if err != nil {
			return err
		}
		lines.State = layout.ChannelStateOpen
		c.lines, c.requests, c.answers = append(c.lines, lines), append(c.requests, reader), append(c.answers, writer)
	}
	return nil
}

// Kill closes the attach socket.
func (c *Conn) Kill() {
	c.dead.Store(true)
	_ = c.bell.SetReadDeadline(time.Unix(1, 0))
	_ = c.socket.CloseRead()
	_ = c.socket.Close()
}

func (c *Conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead.Store(true)
	c.destroyed = true
	_ = unix.Munmap(c.memory)
	_ = c.bell.Close()
	_ = unix.Close(c.wake)
	for _, fd := range c.fds {
		_ = unix.Close(fd)
	}
}

// Memory is the whole segment.
func (c *Conn) Memory() []byte { return c.memory }

// Lines of a channel.
func (c *Conn) Lines(channel uint32) *layout.ChannelLines { return c.lines[channel] }

// Buffer is the memory that a request names; nil where it does not lie in the arena.
func (c *Conn) Buffer(r *Request) []byte {
	arena := c.view.Arena()
	start := uint64(r.BufferPage) * layout.ArenaPage
	if start > uint64(len(arena)) || uint64(r.Length) > uint64(len(arena))-start {
		return nil
	}
	return arena[start : start+uint64(r.Length)]
}

// Late runs f with the segment mapped, from any goroutine; not after the end of the attachment.
func (c *Conn) Late(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.destroyed {
		f()
	}
}

// Complete writes a completion. Any goroutine may call it.
func (c *Conn) Complete(channel uint32, completion layout.Completion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.destroyed {
		return
	}
	c.answers[channel].Write(*(*ring.Completion)(unsafe.Pointer(&completion)))
	if atomic.LoadUint32(&c.lines[channel].CompletionCold) != 0 && c.ringer.Ring(channel) {
		_ = unix.Sendto(c.wake, []byte{1}, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
	}
}

// serve is the polling core.
func (c *Conn) serve() {
	defer c.close()
	go func() {
		var b [64]byte
		_, _ = c.socket.Read(b[:]) // until the client hangs up
		c.Kill()
	}()
	if core := c.Engine.options.Core; core > 0 {
		defer Pin(core)()
		for !c.dead.Load() {
			c.round()
		}
	}
	for idle := 0; !c.dead.Load(); idle++ {
		if c.round() {
			idle = 0
		} else if idle > 100 {
			c.sleep()
			idle = 0
		}
		runtime.Gosched()
	}
}

func (c *Conn) round() (found bool) {
	for i, reader := range c.requests {
		r := &c.taken
		r.Channel = uint32(i)
		for reader.Read((*ring.Request)(unsafe.Pointer(&r.Request))) {
			found = true
			c.Received.Add(1)
			if c.Engine.options.Script == nil || !c.Engine.options.Script(c, r) {
				c.Answer(r)
			}
		}
	}
	return found
}

func (c *Conn) sleep() {
	for _, lines := range c.lines {
		atomic.StoreUint32(&lines.RequestCold, 1)
	}
	c.sleeper.Announce()
	ready := c.sleeper.Any()
	for _, reader := range c.requests {
		ready = ready || reader.Ready()
	}
	if !ready {
		c.Blocks.Add(1)
		_ = c.bell.SetReadDeadline(time.Now().Add(time.Second))
		if c.dead.Load() {
			_ = c.bell.SetReadDeadline(time.Unix(1, 0))
		}
		var b [8]byte
		_, _ = c.bell.Read(b[:])
	}
	c.sleeper.Wake()
	c.sleeper.Take(func(uint32) {})
	for _, lines := range c.lines {
		atomic.StoreUint32(&lines.RequestCold, 0)
	}
}

// Pin keeps the calling goroutine on one core, counted from 1, until the function that it gives is called.
func Pin(core int) func() {
	runtime.LockOSThread()
	var before, only unix.CPUSet
	_ = unix.SchedGetaffinity(0, &before)
	only.Set(core - 1)
	_ = unix.SchedSetaffinity(0, &only)
	return func() {
		_ = unix.SchedSetaffinity(0, &before)
		runtime.UnlockOSThread()
	}
}

// Say sends a message that no protocol has.
func (c *Conn) Say(message []byte) { _, _ = c.socket.Write(message) }
