package enginepath

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

const (
	unpackBuffer = 256 << 10
	smallObject  = 4 << 20 // unpacked bytes that are kept while the size is found out, so as to unpack once
)

// openUnpacked opens a part of an object whose bytes are not those stored: packed, or a manifest.
func (p *Path) openUnpacked(ctx context.Context, to target, want object.Want, meta object.Meta) (*object.Answer, error) {
	size, small, err := p.unpackedSize(ctx, to, want.ID, meta)
	if err != nil {
		return nil, err
	}
	meta.Size = size
	p.hints.learn(want.ID, meta)
	length, err := want.Clip(size)
	if err != nil {
		return nil, err
	}
	if want.Decline && want.Tail(size) {
		return declined(want, meta), nil
	}
	answer := &object.Answer{Meta: meta, Offset: want.Offset, Length: length, Source: object.FromEngine,
		Detail: to.detail(false) + ", unpacked", Body: object.Empty{}}
	if length == 0 {
		return answer, nil
	}
	body := &unpacked{buffer: make([]byte, min(length, unpackBuffer)), left: length, cancel: func() {}, timeout: p.options.Timeout,
		part: length < size, failed: func(err error) {
			// Bytes that do not fit their CRC are taken for those of another version.
			if IsCorrupt(err) || IsChanged(err) {
				p.Distrust(want.ID)
			}
		}}
	if small != nil {
		body.source = io.NopCloser(bytes.NewReader(small[want.Offset:]))
	} else if err := body.open(ctx, p, to, want, length, meta.ETag, meta.Manifest); err != nil {
		return nil, err
	}
	if err := body.advance(); err != nil { // the first bytes are there when the answer begins
		body.Close()
		return nil, err
	}
	answer.Body = body
	return answer, nil
}

// unpackedSize finds out the size that a reader sees. Where that took unpacking, and it is small, all bytes come along.
func (p *Path) unpackedSize(ctx context.Context, to target, id rde.FileID, meta object.Meta) (size uint64, small []byte, err error) {
	if hint, ok := p.hints.recall(id); ok && hint.ETag == meta.ETag && hint.Gzip == meta.Gzip && hint.Manifest == meta.Manifest {
		return hint.Size, nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(p.options.Timeout, cancel)
	defer watch.Stop()
	opened, err := to.session.Client.Object(ctx, to.peer, id, 0, 0)
	if err != nil {
		return 0, nil, timely(err, ctx)
	}
	defer opened.Close()
	if hex8(opened.ETag()) != meta.ETag {
		return 0, nil, ErrChanged
	}
	if known := opened.Size(); known >= 0 {
		return uint64(known), nil, nil
	}
	small = []byte{}
	buffer := make([]byte, unpackBuffer)
	for {
		watch.Reset(p.options.Timeout)
		n, err := opened.Read(buffer)
		size += uint64(n)
		if size > smallObject {
			small = nil
		}
		if small != nil {
			small = append(small, buffer[:n]...)
		}
		if errors.Is(err, io.EOF) {
			return size, small, nil
		}
		if err != nil {
			return 0, nil, timely(err, ctx)
		}
	}
}

// timely makes an error of a watchdog's cancel a deadline's.
func timely(err error, watched context.Context) error {
	if watched.Err() != nil {
		return &rde.Error{Op: "read", Status: rde.StatusDeadlineExceeded, Cause: err}
	}
	return err
}

// unpacked gives the bytes of an opened object.
type unpacked struct {
	source  io.ReadCloser
	watched context.Context
	cancel  context.CancelFunc
	timeout time.Duration // to make progress
	left    uint64        // bytes still to give
	buffer  []byte
	ready   int  // bytes at the front of the buffer
	part    bool // less than the whole object
	opened  engine.Object
	vouch   func(context.Context) error // waits until the engine has checked what is stored
	vouched bool
	failed  func(error) // told why no more bytes come
}

func (b *unpacked) open(ctx context.Context, p *Path, to target, want object.Want, length uint64, etag string, manifest bool) error {
	b.watched, b.cancel = context.WithCancel(ctx)
	watch := time.AfterFunc(b.timeout, b.cancel)
	defer watch.Stop()
	opened, err := to.session.Client.Object(b.watched, to.peer, want.ID, want.Offset, length)
	if err != nil {
		err = timely(err, b.watched)
		b.cancel()
		return err
	}
	b.source, b.opened = opened, opened
	b.vouch = func(ctx context.Context) error { return p.vouch(ctx, to, want.ID) }
	if manifest {
		// Its parts are objects of their own, which the next read may find checked.
		b.vouch = func(context.Context) error { return ErrUnverified }
	}
	if hex8(opened.ETag()) != etag {
		b.Close()
		return ErrChanged
	}
	return nil
}

// advance fills the front of the buffer.
func (b *unpacked) advance() error {
	if b.source == nil {
		return errClosed
	}
	most := min(b.left, uint64(len(b.buffer)))
	watch := time.AfterFunc(b.timeout, b.cancel)
	defer watch.Stop()
	var err error
	b.ready, err = io.ReadAtLeast(b.source, b.buffer[:most], int(min(most, unpackBuffer/4)))
	if err != nil {
		b.ready = 0
		if b.watched != nil {
			err = timely(err, b.watched)
		}
		return err
	}
	// Unpacking finds wrong bytes at the end of the whole object at the soonest: a part, and the end, wait for the check.
	if (b.part || uint64(b.ready) == b.left) && b.Doubtful() {
		watch.Stop()
		if err = b.vouch(b.watched); err != nil {
			b.ready = 0
		}
		b.vouched = err == nil
	}
	return err
}

// Doubtful tells whether bytes were read that nobody has checked yet.
func (b *unpacked) Doubtful() bool { return b.opened != nil && !b.vouched && b.opened.Unverified() }

// Next gives up to 256 KiB.
func (b *unpacked) Next(ctx context.Context) ([]byte, error) {
	if b.left == 0 {
		return nil, io.EOF
	}
	if b.ready == 0 {
		stop := context.AfterFunc(ctx, b.cancel)
		defer stop()
		if err := b.advance(); err != nil {
			b.failed(err)
			return nil, err
		}
	}
	n := b.ready
	b.ready = 0
	b.left -= uint64(n)
	return b.buffer[:n], nil
}

// Close ends the read.
func (b *unpacked) Close() {
	if b.source != nil {
		_ = b.source.Close()
		b.source = nil
		b.cancel()
	}
}
