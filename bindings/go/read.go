package rde

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/attach"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// ReadOption changes how a read is done.
type ReadOption func(*readOptions)

type readOptions struct {
	skipCRC bool
	bulk    bool
	session bool // the peer is a session
}

// SkipCRC leaves the bytes unchecked; ReadInfo.Unverified says so.
func SkipCRC() ReadOption { return func(o *readOptions) { o.skipCRC = true } }

// Bulk lets other reads go first.
func Bulk() ReadOption { return func(o *readOptions) { o.bulk = true } }

func gather(options []ReadOption) (o readOptions) {
	for _, option := range options {
		option(&o)
	}
	return o
}

// ReadInfo is what the answer of a read says.
type ReadInfo struct {
	Bytes      int    // in the buffer
	ObjectSize uint64 // of the whole object as stored
	CRC        uint32 // CRC-32C of the bytes
	Gzip       bool   // the stored bytes are gzip-packed
	Manifest   bool   // the object is a chunk manifest
	End        bool   // the bytes reach the end of the object
	Unverified bool   // nobody has checked the bytes against the object's own CRC
	Local      bool   // no network was used
}

// Read reads stored bytes of an object, from an offset, with one request: what was stored may be packed or a manifest
// (ReadObject undoes both). length is 1 to MaxRead; the answer is shorter only where the object ends. The caller releases the
// buffer. It waits for a free buffer as long as ctx allows. Errors: object_not_found, volume_not_found, offset_past_end,
// object_corrupt, transfer_too_large, out_of_buffers, stale_handle, peer_down, deadline_exceeded, cancelled, engine_gone.
func (c *Client) Read(ctx context.Context, peer Peer, id FileID, offset uint64, length int, options ...ReadOption) (*Buffer, ReadInfo, error) {
	const name = "read"
	if length <= 0 {
		return nil, ReadInfo{}, &Error{Op: name, Status: StatusLengthZero, Field: "length", Text: lengthText(length, c.MaxRead())}
	}
	if ctx.Err() != nil {
		return nil, ReadInfo{}, contextError(ctx).with(name)
	}
	block, failed := c.borrow(ctx, length)
	if failed != nil {
		return nil, ReadInfo{}, failed.with(name)
	}
	r := c.readRequest(ctx, peer, id, offset, uint32(length), block, gather(options))
	out, err := c.do(ctx, name, &r, block)
	if err != nil {
		return nil, ReadInfo{}, err
	}
	return c.lend(out, block, offset, uint32(length))
}

func (c *Client) readRequest(ctx context.Context, peer Peer, id FileID, offset uint64, length uint32, block arena.Block, o readOptions) layout.Request {
	r := layout.Request{Op: layout.OpObjectRead, Handle: uint64(peer), DeadlineNS: c.deadline(ctx), BufferPage: block.Page, Length: length,
		Args: args(layout.ObjectArgs{Needle: id.Needle, Volume: id.Volume, Cookie: id.Cookie, Offset: offset})}
	if o.skipCRC {
		r.Flags |= layout.RequestFlagSkipCRC
	}
	if o.session {
		r.Flags |= layout.RequestFlagInSession
	}
	if o.bulk {
		r.Priority = layout.PriorityBulk
	}
	return r
}

// lend makes a Buffer of a good answer, after a check that its numbers agree with each other.
func (c *Client) lend(out outcome, block arena.Block, offset uint64, length uint32) (*Buffer, ReadInfo, error) {
	bytes, size, flags := out.bytes(), out.value, out.flags()
	info := ReadInfo{Bytes: int(bytes), ObjectSize: size, CRC: out.crc(),
		Gzip:       flags&layout.CompletionFlagGzip != 0,
		Manifest:   flags&layout.CompletionFlagManifest != 0,
		End:        flags&layout.CompletionFlagEnd != 0,
		Unverified: flags&layout.CompletionFlagUnverified != 0,
		Local:      flags&layout.CompletionFlagLocal != 0}
	left := uint64(0)
	if offset < size {
		left = size - offset
	}
	if size > math.MaxInt64 || uint64(bytes) != min(left, uint64(length)) || info.End != (left <= uint64(length)) {
		c.giveBack(block)
		return nil, ReadInfo{}, &Error{Op: "read", Status: StatusEngineBroken, Field: "completion.bytes",
			Text: fmt.Sprintf("%d bytes (end: %v) from %d of an object of %d, for a length of %d", bytes, info.End, offset, size, length)}
	}
	c.trim(&block, int(bytes))
	return &Buffer{client: c, block: block, bytes: c.memory(block, bytes)}, info, nil
}

// trim gives the pages behind the first so many bytes back.
func (c *Client) trim(block *arena.Block, bytes int) { c.arena.Trim(block, pagesOf(bytes)) }

// ObjectStat is what is known of an object without reading it.
type ObjectStat struct {
	StoredSize   uint64
	LastModified uint64 // seconds since 1970; 0 = unknown
	ETag         uint32 // CRC-32C of the stored bytes
	Gzip         bool
	Manifest     bool
	Mime, Name   string

	written uint64 // nanoseconds since 1970: tells versions apart
}

// Stat looks an object up. Errors: as of Read.
func (c *Client) Stat(ctx context.Context, peer Peer, id FileID) (ObjectStat, error) {
	const name = "stat"
	var raw layout.ObjectStat
	size := int(unsafe.Sizeof(raw))
	const room = layout.ObjectStatSize + 2*math.MaxUint8 // mime and name have one length byte each where they are stored
	block, failed := c.borrowPage(ctx)
	if failed != nil {
		return ObjectStat{}, failed.with(name)
	}
	r := layout.Request{Op: layout.OpObjectStat, Handle: uint64(peer), DeadlineNS: c.deadline(ctx), BufferPage: block.Page, Length: room,
		Args: args(layout.ObjectArgs{Needle: id.Needle, Volume: id.Volume, Cookie: id.Cookie})}
	out, err := c.do(ctx, name, &r, block)
	if err != nil {
		return ObjectStat{}, err
	}
	// One private copy: what is checked is what is used.
	answer := append([]byte(nil), c.memory(block, out.bytes())...)
	c.giveBack(block)
	if len(answer) < size {
		return ObjectStat{}, shortAnswer(name, uint32(len(answer)), size)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&raw)), size), answer)
	texts := answer[size:]
	if raw.StoredSize > math.MaxInt64 {
		return ObjectStat{}, &Error{Op: name, Status: StatusEngineBroken, Field: "object_stat.stored_size", Text: fmt.Sprint(raw.StoredSize)}
	}
	if int(raw.MimeLength)+int(raw.NameLength) > len(texts) {
		return ObjectStat{}, shortAnswer(name, uint32(len(answer)), size+int(raw.MimeLength)+int(raw.NameLength))
	}
	texts = texts[:int(raw.MimeLength)+int(raw.NameLength)]
	return ObjectStat{
		StoredSize: raw.StoredSize, LastModified: raw.LastModified, ETag: raw.Etag, written: raw.AppendAtNS,
		Gzip: raw.Flags&layout.CompletionFlagGzip != 0, Manifest: raw.Flags&layout.CompletionFlagManifest != 0,
		Mime: attach.Text(texts[:raw.MimeLength]), Name: attach.Text(texts[raw.MimeLength:]),
	}, nil
}
