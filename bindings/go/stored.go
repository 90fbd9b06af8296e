package rde

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/crc"
)

const (
	pieceBytes      = 1 << 20  // one request of a stream; large ones are cut further by the engine
	smallPieceBytes = 64 << 10 // the first where the arena is short
	readAhead       = 3        // pieces under way
)

// source is what an Object is made of.
type source interface {
	// next gives bytes that are good until the following call; io.EOF at the end.
	next() ([]byte, error)
	close()
}

// piece is a part of a stream that was asked for.
type piece struct {
	op     op
	block  arena.Block
	offset uint64
	length uint32
}

// stored streams the stored bytes of one object from pos to end, and fails where they could be of two versions of it.
type stored struct {
	c       *Client
	ctx     context.Context
	peer    Peer
	id      FileID
	options readOptions
	info    ReadInfo // of the first answer
	version ObjectStat
	whole   bool
	single  bool // one request gave everything
	first   *Buffer
	current *Buffer
	ahead   []piece
	asked   uint64
	pos     uint64
	end     uint64
	sum     uint32 // CRC of the bytes before pos
	err     error
}

// openWhole reads the first piece of an object. Where that is all of it, one request was enough.
func (c *Client) openWhole(ctx context.Context, peer Peer, id FileID, o readOptions) (*stored, error) {
	s := &stored{c: c, ctx: ctx, peer: peer, id: id, options: o, whole: true, end: math.MaxUint64}
	var err error
	if o.skipCRC { // then the version alone tells a replaced object, and has to be taken first
		if s.version, err = c.Stat(ctx, peer, id); err != nil {
			return nil, err
		}
	}
	if err := s.open(uint64(min(pieceBytes, c.MaxRead()))); err != nil {
		return nil, err
	}
	s.end, s.single = s.info.ObjectSize, s.info.End
	switch {
	case o.skipCRC:
	case s.single:
		s.version.ETag = s.info.CRC
		return s, nil
	default:
		s.version, err = c.Stat(ctx, peer, id)
	}
	if err == nil && s.version.StoredSize != s.info.ObjectSize {
		err = s.changed()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openRange reads stored bytes from offset on, after a Stat: a version that is taken before the bytes and is still the same behind
// them is theirs. It gives nil bytes where the stored ones are not what a reader sees, or where offset is the end.
func (c *Client) openRange(ctx context.Context, peer Peer, id FileID, offset, size uint64, o readOptions) (*stored, ObjectStat, error) {
	version, err := c.Stat(ctx, peer, id)
	switch {
	case err != nil || version.Gzip || version.Manifest || offset == version.StoredSize:
		return nil, version, err
	case offset > version.StoredSize:
		return nil, version, pastEnd(offset, version.StoredSize)
	}
	s := &stored{c: c, ctx: ctx, peer: peer, id: id, options: o, version: version, pos: offset, asked: offset, end: version.StoredSize}
	if size > 0 {
		s.end = offset + min(size, s.end-offset)
	}
	s.whole = offset == 0 && s.end == version.StoredSize
	if err := s.open(uint64(min(pieceBytes, c.MaxRead()))); err != nil {
		return nil, version, err
	}
	s.single = s.asked == s.end && !s.whole
	if s.info.ObjectSize != version.StoredSize || s.info.Gzip || s.info.Manifest {
		s.close()
		return nil, version, s.changed()
	}
	return s, version, nil
}

// open reads the first piece, of at most so many bytes.
func (s *stored) open(length uint64) error {
	length = min(length, s.end-s.pos)
	block, ok := s.c.tryBorrow(int(length))
	if !ok {
		var failed *Error
		length = min(smallPieceBytes, length)
		if block, failed = s.c.borrow(s.ctx, int(length)); failed != nil {
			return failed.with("read")
		}
	}
	r := s.c.readRequest(s.ctx, s.peer, s.id, s.pos, uint32(length), block, s.options)
	out, err := s.c.do(s.ctx, "read", &r, block)
	if err != nil {
		return err
	}
	if s.first, s.info, err = s.c.lend(out, block, s.pos, uint32(length)); err != nil {
		return err
	}
	s.asked, s.sum = s.pos+uint64(s.info.Bytes), s.info.CRC
	return nil
}

func pastEnd(offset, size uint64) *Error {
	return &Error{Op: "read", Status: StatusOffsetPastEnd, Field: "offset", Text: fmt.Sprintf("%d: the object has %d bytes", offset, size)}
}

func (s *stored) changed() *Error {
	return &Error{Op: "read", Status: StatusVolumeChanging, Field: "object " + s.id.String(), Text: "it was replaced while it was read; read it again"}
}

func (s *stored) next() ([]byte, error) {
	if s.current != nil {
		s.current.Release()
		s.current = nil
	}
	if s.err == nil {
		s.current, s.err = s.piece()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.current.Bytes(), nil
}

// piece gives the next buffer, and asks for those behind it.
func (s *stored) piece() (*Buffer, error) {
	buffer := s.first
	s.first = nil
	if buffer == nil {
		if s.pos == s.end {
			return nil, io.EOF
		}
		var err error
		if buffer, err = s.fetch(); err != nil {
			return nil, err
		}
	}
	s.pos += uint64(buffer.Len())
	if s.pos == s.end && !s.single {
		// Before the last bytes go out, all of them must be known to be of one version.
		if err := s.verify(); err != nil {
			buffer.Release()
			return nil, err
		}
	}
	if err := s.ask(); err != nil {
		buffer.Release()
		return nil, err
	}
	return buffer, nil
}

// fetch waits for the oldest piece under way.
func (s *stored) fetch() (*Buffer, error) {
	if len(s.ahead) == 0 {
		if err := s.askOne(true); err != nil {
			return nil, err
		}
	}
	p := s.ahead[0]
	s.ahead = s.ahead[1:]
	out, err := s.c.conclude("read", s.c.await(s.ctx, s.c.join(p.op)), p.block)
	if err != nil {
		return nil, err
	}
	buffer, info, err := s.c.lend(out, p.block, p.offset, p.length)
	if err != nil {
		return nil, err
	}
	if info.ObjectSize != s.info.ObjectSize || info.Gzip != s.info.Gzip || info.Manifest != s.info.Manifest || info.Bytes != int(p.length) {
		buffer.Release()
		return nil, s.changed()
	}
	s.sum = crc.Combine(s.sum, info.CRC, uint64(info.Bytes))
	s.info.Unverified = s.info.Unverified || info.Unverified
	s.info.Local = s.info.Local && info.Local
	return buffer, nil
}

// ask keeps pieces under way, with buffers and credits that nobody waits for.
func (s *stored) ask() error {
	for len(s.ahead) < readAhead && s.asked < s.end {
		before := s.asked
		if err := s.askOne(false); err != nil {
			return err
		}
		if s.asked == before {
			return nil
		}
	}
	return nil
}

func (s *stored) askOne(wait bool) error {
	length := uint32(min(uint64(pieceBytes), uint64(s.c.MaxRead()), s.end-s.asked))
	block, ok := s.c.tryBorrow(int(length))
	if !ok {
		if !wait {
			return nil
		}
		length = min(length, smallPieceBytes)
		var failed *Error
		if block, failed = s.c.borrow(s.ctx, int(length)); failed != nil {
			return failed.with("read")
		}
	}
	r := s.c.readRequest(s.ctx, s.peer, s.id, s.asked, length, block, s.options)
	o, failed := s.c.begin(s.ctx, &r, block, false, !wait)
	if failed != nil {
		if !wait && failed.Status == StatusRingFull {
			return nil
		}
		return failed.with("read")
	}
	s.ahead = append(s.ahead, piece{o, block, s.asked, length})
	s.asked += uint64(length)
	return nil
}

// verify compares what was read with the object's own CRC, or, where that does not cover it, its version with that at first.
func (s *stored) verify() error {
	if s.whole && !s.options.skipCRC {
		if s.sum == s.version.ETag || crc.Legacy(s.sum) == s.version.ETag {
			s.info.Unverified = false
			return nil
		}
		return s.changed()
	}
	now, err := s.c.Stat(s.ctx, s.peer, s.id)
	if err != nil {
		return err
	}
	if now.ETag != s.version.ETag || now.StoredSize != s.version.StoredSize || now.written != s.version.written {
		return s.changed()
	}
	return nil
}

func (s *stored) close() {
	for _, b := range []*Buffer{s.first, s.current} {
		if b != nil {
			b.Release()
		}
	}
	s.first, s.current = nil, nil
	for _, p := range s.ahead {
		if s.c.abandon(p.op.ch, p.op.e, &Error{Status: StatusCancelled}).back() {
			s.c.giveBack(p.block)
		}
	}
	s.ahead = nil
	if s.err == nil {
		s.err = ErrDetached
	}
}
