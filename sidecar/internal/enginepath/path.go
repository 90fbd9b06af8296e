// Package enginepath reads objects through the attached rdma-engine.
//
//	path := enginepath.New(enginepath.Options{Manager: manager, Servers: servers})
//	answer, err := path.Open(ctx, preferred, object.Want{ID: id}) // any error: try another path
package enginepath

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

var (
	// ErrAway says that no engine is attached.
	ErrAway = errors.New("no engine is attached")
	// ErrResting says that the engine did not serve this volume a moment ago.
	ErrResting = errors.New("the engine could not serve this volume a moment ago")
	// ErrChanged says that the object was overwritten while it was read.
	ErrChanged = errors.New("the object changed while it was read")
	// ErrCorrupt says that the bytes do not match the object's CRC-32C.
	ErrCorrupt = errors.New("the bytes do not match the CRC-32C of the object")
	// ErrUnverified says that the engine did not check the whole object soon enough to vouch for a part of it.
	ErrUnverified = errors.New("the engine has not checked the object yet that these bytes are a part of")
	errClosed     = errors.New("the stream is closed")
)

// IsCorrupt tells whether an error says that stored bytes are wrong. Those that came before it are then not to be
// trusted either.
func IsCorrupt(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, rde.StatusObjectCorrupt) || errors.Is(err, rde.StatusVolumeCorrupt)
}

// IsChanged tells whether an error says that the bytes before it may be of another version of the object.
func IsChanged(err error) bool {
	return errors.Is(err, ErrChanged) || errors.Is(err, rde.StatusVolumeChanging)
}

// Options of a Path. Manager and Servers are required; zero values take defaults.
type Options struct {
	Manager *engine.Manager
	Servers *cluster.Servers
	Timeout time.Duration // of each request to the engine; default 2 s
	Piece   int           // largest request of a read, in bytes; default 1 MiB
	Window  int           // requests of one read that are under way at once; default 3
	// Budget is how many bytes of the engine's memory reads may hold before they stop reading ahead, and half
	// of it before their requests get smaller; default 32 MiB. Slow clients shall not starve the others.
	Budget int64
	// Copy takes each piece into private memory and gives the engine's back at once, before the client gets it.
	Copy bool
}

// Path reads through the engine. For many goroutines.
type Path struct {
	options    Options
	routes     routes
	hints      hints
	distrusted distrusted
	lent       atomic.Int64 // bytes of the engine's memory that are asked for or held
}

const (
	defaultTimeout = 2 * time.Second
	defaultPiece   = 1 << 20
	defaultWindow  = 3
	defaultBudget  = 32 << 20
	smallPiece     = 256 << 10 // where the object's size is not known yet, or memory is short
)

// New gives a path.
func New(options Options) *Path {
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	if options.Piece <= 0 {
		options.Piece = defaultPiece
	}
	if options.Window <= 0 {
		options.Window = defaultWindow
	}
	if options.Budget <= 0 {
		options.Budget = defaultBudget
	}
	return &Path{options: options, routes: newRoutes(), hints: newHints(), distrusted: newDistrusted()}
}

// Stat asks for an object's metadata. Of a packed object the unpacked size is found out.
func (p *Path) Stat(ctx context.Context, preferred cluster.Server, id rde.FileID) (object.Meta, error) {
	if err := p.trust(preferred, id); err != nil {
		return object.Meta{}, err
	}
	var meta object.Meta
	err := p.route(ctx, id.Volume, preferred, func(to target) error {
		stat, err := p.stat(ctx, to, id)
		if err != nil {
			return err
		}
		meta = metaOf(stat)
		if stat.Gzip || stat.Manifest {
			if meta.Size, _, err = p.unpackedSize(ctx, to, id, meta); err != nil {
				return err
			}
		}
		p.hints.learn(id, meta)
		return nil
	})
	return meta, p.note(id, err)
}

// Open opens a part of an object; its first bytes are there when Open returns. Its body fails where the engine
// stops in the middle. A hint learnt before may decline a part without asking the engine.
func (p *Path) Open(ctx context.Context, preferred cluster.Server, want object.Want) (*object.Answer, error) {
	if hint, ok := p.hints.recall(want.ID); ok && want.Decline && want.Tail(hint.Size) && p.options.Manager.Current() != nil {
		return declined(want, hint), nil
	}
	if err := p.trust(preferred, want.ID); err != nil {
		return nil, err
	}
	var answer *object.Answer
	err := p.route(ctx, want.ID.Volume, preferred, func(to target) error {
		var err error
		answer, err = p.openAt(ctx, to, want)
		return err
	})
	return answer, p.note(want.ID, err)
}

func declined(want object.Want, meta object.Meta) *object.Answer {
	return &object.Answer{Meta: meta, Offset: want.Offset, Declined: true, Source: object.FromEngine,
		Detail: "declined: the part reaches the end of the object", Body: object.Empty{}}
}

func (p *Path) openAt(ctx context.Context, to target, want object.Want) (*object.Answer, error) {
	hint, known := p.hints.recall(want.ID)
	var first *piece
	var stat engine.Stat
	var err error
	if want.Decline || known && (hint.Gzip || hint.Manifest) {
		stat, err = p.stat(ctx, to, want.ID)
	} else {
		// The metadata and the first bytes are asked for at once.
		first = p.begin(ctx, to, want.ID, want.Offset, p.firstLength(want, hint, known))
		stat, err = p.stat(ctx, to, want.ID)
	}
	if err != nil {
		first.discard()
		return nil, err
	}
	meta := metaOf(stat)
	if stat.Gzip || stat.Manifest {
		first.discard()
		return p.openUnpacked(ctx, to, want, meta)
	}
	p.hints.learn(want.ID, meta)
	length, err := want.Clip(meta.Size)
	if err != nil || length == 0 || want.Decline && want.Tail(meta.Size) {
		first.discard()
	}
	switch {
	case err != nil:
		return nil, err
	case want.Decline && want.Tail(meta.Size):
		return declined(want, meta), nil
	}
	answer := &object.Answer{Meta: meta, Offset: want.Offset, Length: length, Source: object.FromEngine, Detail: "engine", Body: object.Empty{}}
	if length == 0 {
		return answer, nil
	}
	body := p.newStream(ctx, to, want.ID, stat, want.Offset, length)
	local, err := body.start(first)
	if err != nil {
		body.Close()
		return nil, err
	}
	answer.Body = body
	answer.Detail = to.detail(local)
	return answer, nil
}

// firstLength is how much the first request asks for. Memory of the engine is lent for all of it.
func (p *Path) firstLength(want object.Want, hint object.Meta, known bool) uint64 {
	length := uint64(p.options.Piece)
	switch {
	case known && want.Offset < hint.Size:
		length = min(length, hint.Size-want.Offset)
	case want.Length == 0:
		length = smallPiece
	}
	if want.Length > 0 {
		length = min(length, want.Length)
	}
	return length
}

func (p *Path) stat(ctx context.Context, to target, id rde.FileID) (engine.Stat, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	return to.session.Client.Stat(ctx, to.peer, id)
}

func metaOf(stat engine.Stat) object.Meta {
	return object.Meta{Size: stat.StoredSize, ETag: hex8(stat.ETag), Mime: stat.Mime, Name: stat.Name,
		LastModified: stat.LastModified, Gzip: stat.Gzip, Manifest: stat.Manifest}
}

// Attached tells whether there is an engine to ask.
func (p *Path) Attached() bool { return p.options.Manager.Current() != nil }
