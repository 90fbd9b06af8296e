package enginepath

import (
	"context"
	"fmt"
	"io"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
)

// piece is one request to the engine that is under way.
type piece struct {
	offset, length uint64
	lent           int64
	cancel         context.CancelFunc
	done           chan struct{} // closed when the rest is set
	path           *Path
	buffer         engine.Buffer
	info           engine.ReadInfo
	err            error
}

// begin asks for a piece; the answer comes on its own.
func (p *Path) begin(ctx context.Context, to target, id rde.FileID, offset, length uint64) *piece {
	most := p.options.Piece
	if p.lent.Load() > p.options.Budget/2 {
		most = min(most, smallPiece)
	}
	length = min(length, uint64(most), uint64(max(to.session.Client.MaxRead(), 1)))
	p.lent.Add(int64(length))
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	made := &piece{path: p, offset: offset, length: length, lent: int64(length), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(made.done)
		defer cancel()
		made.buffer, made.info, made.err = to.session.Client.Read(ctx, to.peer, id, offset, int(length))
	}()
	return made
}

// discard gives up a piece, and its buffer when that comes. A nil piece is none.
func (p *piece) discard() {
	if p == nil {
		return
	}
	p.cancel()
	<-p.done
	p.release()
}

// release gives the buffer of a piece that is done back.
func (p *piece) release() {
	if p.buffer != nil {
		p.buffer.Release()
		p.buffer = nil
	}
	p.path.lent.Add(-p.lent)
	p.lent = 0
}

// stream gives the bytes of a part straight from the engine's buffers, with the next pieces under way. What it gives
// is checked by the engine, but for a whole object in several pieces: that one's CRC-32C is its reader's to check.
type stream struct {
	path   *Path
	ctx    context.Context
	cancel context.CancelFunc
	to     target
	id     rde.FileID
	stat   engine.Stat

	asked  uint64 // offset of the next piece to ask for
	given  uint64 // offset of the next byte to give
	end    uint64
	window int
	queue  []*piece
	held   *piece // the caller looks at its buffer

	private []byte // what is given with Options.Copy

	whole bool // the part is the whole object
}

func (p *Path) newStream(ctx context.Context, to target, id rde.FileID, stat engine.Stat, offset, length uint64) *stream {
	s := &stream{path: p, to: to, id: id, stat: stat, asked: offset, given: offset, end: offset + length,
		window: p.options.Window, whole: offset == 0 && length == stat.StoredSize}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// start waits for the first piece, which may be under way already (else nil), and tells whether it is local.
func (s *stream) start(first *piece) (local bool, err error) {
	if first != nil {
		s.queue = append(s.queue, first)
		s.asked = first.offset + first.length
		// What was asked for before the size was known may reach over the end.
		first.length = min(first.length, s.end-first.offset)
	}
	s.fill()
	piece := s.queue[0]
	<-piece.done
	if err := s.check(piece); err != nil {
		return false, err
	}
	return piece.info.Local, s.vouch(piece)
}

// fill keeps pieces under way: one always, more while there is memory.
func (s *stream) fill() {
	for len(s.queue) < s.window && s.asked < s.end {
		if len(s.queue) > 0 && s.path.lent.Load() > s.path.options.Budget {
			return
		}
		piece := s.path.begin(s.ctx, s.to, s.id, s.asked, s.end-s.asked)
		s.asked += piece.length
		s.queue = append(s.queue, piece)
	}
}

// check holds a piece against the metadata that the answer began with.
func (s *stream) check(p *piece) error {
	switch {
	case p.err != nil:
		return p.err
	case p.info.ObjectSize != s.stat.StoredSize || p.info.Gzip || p.info.Manifest:
		return ErrChanged
	case uint64(p.info.Bytes) != p.length || uint64(len(p.buffer.Bytes())) < p.length:
		return &rde.Error{Op: "read", Status: rde.StatusEngineBroken,
			Text: fmt.Sprintf("%d bytes at offset %d of an object of %d, asked for %d", p.info.Bytes, p.offset, p.info.ObjectSize, p.length)}
	case s.whole && p.length == s.stat.StoredSize && !fits(p.info.CRC, s.stat.ETag):
		return ErrChanged
	}
	return nil
}

// vouch lets a piece pass that the engine has checked, and waits for the check of another.
func (s *stream) vouch(p *piece) error {
	if s.whole || !p.info.Unverified {
		return nil
	}
	err := s.path.vouch(s.ctx, s.to, s.id)
	p.info.Unverified = err != nil
	return err
}

// Next gives the bytes of the next piece.
func (s *stream) Next(ctx context.Context) ([]byte, error) {
	s.release()
	if s.given == s.end {
		return nil, io.EOF
	}
	s.fill()
	if len(s.queue) == 0 {
		return nil, errClosed
	}
	next := s.queue[0]
	select {
	case <-next.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if next.err != nil && statusOf(next.err).Category() == "capacity" {
		// Pieces read ahead may exhaust what the engine has; now the one before is given back.
		s.window = 1
		s.drop()
		s.fill()
		next = s.queue[0]
		<-next.done
	}
	err := s.check(next)
	if err == nil {
		err = s.vouch(next)
	}
	if err != nil {
		return nil, s.path.note(s.id, s.path.settle(s.ctx, s.id.Volume, s.to, err))
	}
	s.queue = s.queue[1:]
	s.held = next
	s.given += next.length
	bytes := next.buffer.Bytes()[:next.length]
	if s.path.options.Copy {
		s.private = append(s.private[:0], bytes...)
		s.release()
		return s.private, nil
	}
	return bytes, nil
}

// drop gives up all pieces that are under way; they will be asked for again.
func (s *stream) drop() {
	for _, p := range s.queue {
		p.cancel()
	}
	for _, p := range s.queue {
		p.discard()
	}
	s.queue = nil
	s.asked = s.given
}

func (s *stream) release() {
	if s.held != nil {
		s.held.release()
		s.held = nil
	}
}

// Close gives all buffers back.
func (s *stream) Close() {
	s.cancel()
	s.release()
	s.drop()
	s.end = s.given
}
