package reader

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginepath"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/httppath"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/metrics"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// ErrInterrupted says that no path could go on with the bytes that an answer began with.
var ErrInterrupted = errors.New("the answer was interrupted, and no path goes on with the same bytes")

const mostResumes = 3 // without a byte in between

// resumable is a body that goes on from its next byte by another path, if the object there is the same, and if
// nothing says that what was given may be wrong.
type resumable struct {
	reader  *Reader
	request Request
	meta    object.Meta
	inner   object.Stream
	source  object.Source // of inner
	first   object.Source // of the first byte
	at, end uint64        // next byte to give, and the one behind the last

	ctx     context.Context // of the whole answer
	cancel  context.CancelFunc
	release context.CancelFunc // of the inner stream that was opened anew; may be nil
	begun   time.Time

	// Of a whole object that is given as it is stored, the last bytes are given only where all fit its CRC-32C,
	// whatever paths they came by.
	whole bool
	sum   enginepath.Sum

	engineBytes, httpBytes uint64
	failed, closed         bool
	over                   error // nothing comes any more
}

// Next gives bytes of one path or another.
func (b *resumable) Next(ctx context.Context) ([]byte, error) {
	for tries := 0; ; tries++ {
		if b.over != nil {
			return nil, b.over
		}
		if b.at == b.end {
			return nil, io.EOF
		}
		bytes, err := b.inner.Next(ctx)
		if err == nil {
			err = b.check(bytes)
		}
		if err == nil {
			b.count(uint64(len(bytes)))
			return bytes, nil
		}
		b.failed = true
		if ctx.Err() != nil || !b.mayGoOn(err) || tries == mostResumes {
			b.over = errors.Join(ErrInterrupted, err)
			continue
		}
		if err := b.reopen(err); err != nil {
			b.reader.options.Metrics.Resumed(false)
			b.over = errors.Join(ErrInterrupted, err)
			continue
		}
		b.reader.options.Metrics.Resumed(true)
	}
}

// check sums bytes up, and holds the last ones back where the sum is wrong. What the engine gives in one piece it has
// checked itself.
func (b *resumable) check(bytes []byte) error {
	size := uint64(len(bytes))
	if !b.whole || size == b.meta.Size && b.source == object.FromEngine {
		return nil
	}
	b.sum.Add(bytes)
	if b.at+size == b.end && !b.sum.Fits(b.meta.ETag) {
		b.reader.options.Engine.Distrust(b.request.Want.ID)
		return enginepath.ErrCorrupt
	}
	return nil
}

// mayGoOn tells whether an answer that failed may be continued by another path. Where stored bytes are wrong those
// given before may be so too, and a good rest would only hide it.
func (b *resumable) mayGoOn(err error) bool {
	if enginepath.IsCorrupt(err) {
		return false
	}
	if b.first == object.FromHTTP || !packed(b.meta) {
		return true
	}
	// No checksum is known of unpacked bytes: what was given must have been right by the engine's word.
	doubtful, ok := b.inner.(interface{ Doubtful() bool })
	return !enginepath.IsChanged(err) && !(ok && doubtful.Doubtful())
}

// packed tells whether an object's bytes are not those stored.
func packed(meta object.Meta) bool { return meta.Gzip || meta.Manifest }

func (b *resumable) count(bytes uint64) {
	b.at += bytes
	if b.source == object.FromEngine {
		b.engineBytes += bytes
	} else {
		b.httpBytes += bytes
	}
}

// reopen opens the rest of the part, over HTTP first.
func (b *resumable) reopen(why error) error {
	b.reader.options.Logger.Warn("a path failed in the middle of an answer", "file_id", b.request.Want.ID, "path", b.source,
		"next_byte", b.at, "error", why)
	b.closeInner()
	rest := b.request
	rest.Want = object.Want{ID: rest.Want.ID, Offset: b.at, Length: b.end - b.at}
	ctx, settled, cancel := b.reader.opening(b.ctx)
	answer, err := b.reader.options.HTTP.Open(ctx, from(rest), rest.Want)
	if errors.Is(err, httppath.ErrNoServer) {
		if err = b.reader.engineReady(ctx, rest); err == nil {
			answer, err = b.reader.options.Engine.Open(ctx, rest.Preferred, rest.Want)
		}
	}
	settled()
	if err == nil && (!answer.Meta.Same(b.meta) || answer.Length != b.end-b.at) {
		answer.Close()
		err = errors.New("the object is not the one that the answer began with")
	}
	if err != nil {
		cancel()
		return errors.Join(why, err)
	}
	b.inner, b.source, b.release = answer.Body, answer.Source, cancel
	return nil
}

func (b *resumable) closeInner() {
	b.inner.Close()
	b.inner = object.Empty{}
	if b.release != nil {
		b.release()
		b.release = nil
	}
}

// Close ends the answer and counts it.
func (b *resumable) Close() {
	if b.closed {
		return
	}
	b.closed = true
	b.closeInner()
	b.cancel()
	b.reader.options.Metrics.ReadDone(metrics.Read{Engine: b.first == object.FromEngine, EngineBytes: b.engineBytes,
		HTTPBytes: b.httpBytes, Took: time.Since(b.begun), Failed: b.failed})
}
