package enginetest

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/crc"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// ID names an object.
type ID struct {
	Volume uint32
	Needle uint64
	Cookie uint32
}

// Object is what an engine has.
type Object struct {
	Data       []byte // as stored
	Flags      uint16 // completion flags: GZIP, MANIFEST
	Mime, Name string
}

// Put stores an object, or replaces it.
func (e *Engine) Put(id ID, o Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.objects[id] = o
}

func (e *Engine) get(args layout.ObjectArgs) (Object, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o, ok := e.objects[ID{args.Volume, args.Needle, args.Cookie}]
	return o, ok
}

// Statuses that the engine gives.
const (
	statusUnknownOperation = 101
	statusOffsetPastEnd    = 107
	statusStaleHandle      = 109
	statusObjectNotFound   = 201
	statusTooManySessions  = 502
	statusCRCMismatch      = 503
	statusPeerUnreachable  = 300
)

// Peer is the handle that CONNECT gives.
const Peer = 1<<32 | 5

// Answer carries a request out as an engine should.
func (c *Conn) Answer(r *Request) {
	done := layout.Completion{Tag: r.Tag}
	switch r.Op {
	case layout.OpNop, layout.OpCancel, layout.OpDisconnect:
	case layout.OpPing:
		done.Value = Monotonic()
	case layout.OpConnect:
		done.Value = Peer
		if string(c.Buffer(r)) != "127.0.0.1:18515" {
			done.Value, done.Status = 0, statusPeerUnreachable
		}
	case layout.OpCapabilities:
		capabilities := layout.Capabilities{ABIMajor: layout.ABIMajor, MaxTransfer: 1 << 20, Volumes: 2}
		copy(capabilities.Version[:], "test")
		copy(capabilities.Transport[:], "sim")
		done.Bytes = uint32(copy(c.Buffer(r), Bytes(&capabilities)))
	case layout.OpSessionOpen, layout.OpSessionClose:
		c.session(r, &done)
	case layout.OpObjectStat:
		c.stat(r, &done)
	case layout.OpObjectRead:
		c.read(r, &done)
	default:
		done.Status = statusUnknownOperation
	}
	c.Complete(r.Channel, done)
}

// Session is the handle that SESSION_OPEN gives; a second session is too many, and the checksum of what was read in it is that of
// SessionBytes.
const Session = 1<<32 | 7

// SessionBytes are what a session's reads delivered, to SESSION_CLOSE.
const SessionBytes = "123456789"

func (c *Conn) session(r *Request, done *layout.Completion) {
	c.mu.Lock()
	open := c.sessionOpen
	c.sessionOpen = r.Op == layout.OpSessionOpen
	c.mu.Unlock()
	closing := *(*layout.SessionCloseArgs)(unsafe.Pointer(&r.Args))
	switch {
	case r.Op == layout.OpSessionOpen && open:
		done.Status = statusTooManySessions
	case r.Op == layout.OpSessionOpen:
		done.Value = Session
	case !open || r.Handle != Session:
		done.Status = statusStaleHandle
	default:
		done.Value, done.CRC = uint64(len(SessionBytes)), crc.Of([]byte(SessionBytes))
		if closing.Flags&layout.SessionFlagCRC != 0 && closing.CRC != done.CRC {
			done.Status = statusCRCMismatch
		}
	}
}

func (c *Conn) stat(r *Request, done *layout.Completion) {
	o, ok := c.Engine.get(r.Object())
	if !ok {
		done.Status = statusObjectNotFound
		return
	}
	stat := layout.ObjectStat{StoredSize: uint64(len(o.Data)), LastModified: 1700000000, Etag: crc.Of(o.Data), Flags: uint32(o.Flags),
		Volume: r.Object().Volume, MimeLength: uint16(len(o.Mime)), NameLength: uint16(len(o.Name))}
	answer := append(append(append([]byte(nil), Bytes(&stat)...), o.Mime...), o.Name...)
	done.Bytes = uint32(copy(c.Buffer(r), answer))
}

func (c *Conn) read(r *Request, done *layout.Completion) {
	o, ok := c.Engine.get(r.Object())
	offset := r.Object().Offset
	switch size := uint64(len(o.Data)); {
	case !ok:
		done.Status = statusObjectNotFound
	case offset > size:
		done.Status = statusOffsetPastEnd
	default:
		n := copy(c.Buffer(r), o.Data[offset:])
		done.Bytes, done.CRC, done.Value = uint32(n), crc.Of(o.Data[offset:offset+uint64(n)]), size
		done.Flags = o.Flags | layout.CompletionFlagLocal
		if offset+uint64(n) == size {
			done.Flags |= layout.CompletionFlagEnd
		}
		if r.Flags&layout.RequestFlagSkipCRC != 0 {
			done.CRC = 0
			done.Flags |= layout.CompletionFlagUnverified
		}
	}
}

// Monotonic is CLOCK_MONOTONIC.
func Monotonic() uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return uint64(ts.Nano())
}
