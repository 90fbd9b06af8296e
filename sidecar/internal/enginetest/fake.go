// Package enginetest has an engine for tests that serves volume files from this process and fails as it is told.
//
//	fake := enginetest.New(dir)
//	fake.OnRead = func(ctx context.Context, call int, offset uint64) error { return rde.StatusPeerDown }
//	manager := engine.NewManager(engine.Options{Attach: fake.Attach})
package enginetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

// Fake is an engine that lives, dies and lives again. Set its fields before use.
type Fake struct {
	Local *volume.Store            // what peer 0 serves; nil = nothing
	Peers map[string]*volume.Store // what the engines at these addresses serve
	// OnRead is asked before each read of bytes, counted from 1; an error fails it, and it may wait.
	OnRead func(ctx context.Context, call int, offset uint64) error
	// OnBytes may spoil what a read gives, after its CRC was made, as a storage host that trusts its bytes would.
	OnBytes func(offset uint64, bytes []byte)
	// Unverified tells whether the engine has not checked the object yet that a read is a part of.
	Unverified func(offset uint64, length int) bool
	OnStat     func(ctx context.Context) error
	OnPing     func(ctx context.Context) error
	// OnUnpacked may spoil or fail what an unpacked object gives.
	OnUnpacked func(bytes []byte) error
	Refuse     atomic.Bool // attaching fails
	Largest    int         // of one read; 0 = 1 MiB

	Attaches, Connects, Reads, Stats atomic.Int64
	Lent                             atomic.Int64 // buffers that were not released

	mutex   sync.Mutex
	current *client
}

// New gives a fake whose peer 0 serves the volumes of some folders.
func New(dirs ...string) *Fake { return &Fake{Local: volume.Open(dirs...)} }

// Attach begins a new life, or joins the one there is.
func (f *Fake) Attach(context.Context) (engine.Client, error) {
	if f.Refuse.Load() {
		return nil, &rde.Error{Op: "attach", Status: rde.StatusAttachRefused, Text: "the test says so"}
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.Attaches.Add(1)
	f.current = &client{fake: f, done: make(chan struct{}), peers: map[engine.Peer]*volume.Store{}}
	return f.current, nil
}

// Die ends this life: what is under way fails.
func (f *Fake) Die() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.current != nil {
		f.current.end()
	}
}

// ForgetPeers makes all peer handles stale.
func (f *Fake) ForgetPeers() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.current.mutex.Lock()
	defer f.current.mutex.Unlock()
	clear(f.current.peers)
}

// CheckLent fails the test where buffers were not given back in the end.
func (f *Fake) CheckLent(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); f.Lent.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d buffers of the engine were not given back", f.Lent.Load())
		}
	}
}

type client struct {
	fake  *Fake
	done  chan struct{}
	once  sync.Once
	mutex sync.Mutex
	next  engine.Peer
	peers map[engine.Peer]*volume.Store
}

var errGone = &rde.Error{Op: "read", Status: rde.StatusEngineGone}

func (c *client) end()                  { c.once.Do(func() { close(c.done) }) }
func (c *client) Done() <-chan struct{} { return c.done }
func (c *client) Close() error          { c.end(); return nil }
func (c *client) MaxRead() int          { return c.fake.largest() }

func (f *Fake) largest() int {
	if f.Largest > 0 {
		return f.Largest
	}
	return 1 << 20
}

func (c *client) Err() error {
	select {
	case <-c.done:
		return errGone
	default:
		return nil
	}
}

// wait runs a hook, and tells whether the engine or the caller went away meanwhile.
func (c *client) wait(ctx context.Context, hook func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.done:
			cancel(errGone)
		case <-ctx.Done():
		}
	}()
	if hook != nil {
		if err := hook(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return c.failure(cause)
			}
			return c.failure(err)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return c.failure(cause)
	}
	return c.Err()
}

func (c *client) failure(err error) error {
	var status rde.Status
	switch {
	case errors.Is(err, errGone):
		return errGone
	case errors.Is(err, context.DeadlineExceeded):
		return &rde.Error{Op: "read", Status: rde.StatusDeadlineExceeded, Cause: err}
	case errors.Is(err, context.Canceled):
		return &rde.Error{Op: "read", Status: rde.StatusCancelled, Cause: err}
	case errors.As(err, &status):
		return &rde.Error{Op: "read", Status: status}
	}
	return err
}

func (c *client) Connect(_ context.Context, hostPort string) (engine.Peer, error) {
	c.fake.Connects.Add(1)
	store, ok := c.fake.Peers[hostPort]
	if !ok {
		return 0, &rde.Error{Op: "connect", Status: rde.StatusPeerUnreachable}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.next++
	c.peers[c.next] = store
	return c.next, nil
}

func (c *client) Ping(ctx context.Context) (engine.Ping, error) {
	return engine.Ping{EngineTime: time.Second, RTT: time.Microsecond}, c.wait(ctx, c.fake.OnPing)
}

func (c *client) Capabilities(context.Context) (engine.Capabilities, error) {
	return engine.Capabilities{Version: "fake", Transport: "sim", Device: "none", MaxSessions: 1000, MaxTransfer: uint64(c.fake.largest())}, c.Err()
}

func (c *client) needle(peer engine.Peer, id rde.FileID) (*volume.Needle, error) {
	store := c.fake.Local
	if peer != 0 {
		c.mutex.Lock()
		known, ok := c.peers[peer]
		c.mutex.Unlock()
		if !ok {
			return nil, &rde.Error{Op: "read", Status: rde.StatusStaleHandle}
		}
		store = known
	}
	if store == nil {
		return nil, &rde.Error{Op: "read", Status: rde.StatusVolumeNotFound}
	}
	needle, err := store.Read(volume.FileID{Volume: id.Volume, Key: id.Needle, Cookie: id.Cookie})
	switch {
	case errors.Is(err, volume.ErrNoVolume):
		return nil, &rde.Error{Op: "read", Status: rde.StatusVolumeNotFound}
	case errors.Is(err, volume.ErrNotFound):
		return nil, &rde.Error{Op: "read", Status: rde.StatusObjectNotFound}
	case errors.Is(err, volume.ErrCorrupt):
		return nil, &rde.Error{Op: "read", Status: rde.StatusObjectCorrupt}
	}
	return needle, err
}

func (c *client) Stat(ctx context.Context, peer engine.Peer, id rde.FileID) (engine.Stat, error) {
	c.fake.Stats.Add(1)
	if err := c.wait(ctx, c.fake.OnStat); err != nil {
		return engine.Stat{}, err
	}
	n, err := c.needle(peer, id)
	if err != nil {
		return engine.Stat{}, err
	}
	return engine.Stat{StoredSize: uint64(len(n.Data)), LastModified: n.LastModified, ETag: n.CRC, Gzip: n.Gzip, Manifest: n.Manifest,
		Mime: n.Mime, Name: n.Name}, nil
}

func (c *client) Read(ctx context.Context, peer engine.Peer, id rde.FileID, offset uint64, length int) (engine.Buffer, engine.ReadInfo, error) {
	call := int(c.fake.Reads.Add(1))
	err := c.wait(ctx, func(ctx context.Context) error {
		if c.fake.OnRead == nil {
			return nil
		}
		return c.fake.OnRead(ctx, call, offset)
	})
	if err != nil {
		return nil, engine.ReadInfo{}, err
	}
	n, err := c.needle(peer, id)
	if err != nil {
		return nil, engine.ReadInfo{}, err
	}
	size := uint64(len(n.Data))
	if offset > size || length <= 0 || length > c.fake.largest() {
		return nil, engine.ReadInfo{}, &rde.Error{Op: "read", Status: rde.StatusOffsetPastEnd}
	}
	part := n.Data[offset:min(size, offset+uint64(length))]
	if c.fake.OnBytes != nil {
		part = bytes.Clone(part)
		c.fake.OnBytes(offset, part)
	}
	c.fake.Lent.Add(1)
	info := engine.ReadInfo{Bytes: len(part), ObjectSize: size, CRC: crc32.Checksum(part, crc32.MakeTable(crc32.Castagnoli)), Gzip: n.Gzip,
		Manifest: n.Manifest, End: offset+uint64(len(part)) == size, Local: peer == 0}
	info.Unverified = c.fake.Unverified != nil && uint64(len(part)) < size && c.fake.Unverified(offset, length)
	return &buffer{fake: c.fake, bytes: bytes.Clone(part)}, info, nil
}

// buffer turns to other bytes when it is released, so that a use after that is seen.
type buffer struct {
	fake  *Fake
	mutex sync.Mutex
	gone  bool
	bytes []byte
}

func (b *buffer) Bytes() []byte {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes
}

func (b *buffer) Release() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.gone {
		panic("a buffer was released twice")
	}
	for i := range b.bytes {
		b.bytes[i] = 0xEE
	}
	b.gone, b.bytes = true, nil
	b.fake.Lent.Add(-1)
}

func (c *client) Object(ctx context.Context, peer engine.Peer, id rde.FileID, offset, length uint64) (engine.Object, error) {
	if err := c.wait(ctx, nil); err != nil {
		return nil, err
	}
	n, err := c.needle(peer, id)
	if err != nil {
		return nil, err
	}
	if n.Manifest {
		return nil, &rde.Error{Op: "read", Status: rde.StatusNotSupported, Text: "the fake joins no manifests"}
	}
	plain := n.Data
	if n.Gzip {
		unpacker, err := gzip.NewReader(bytes.NewReader(n.Data))
		if err != nil {
			return nil, &rde.Error{Op: "read", Status: rde.StatusObjectCorrupt}
		}
		if plain, err = io.ReadAll(unpacker); err != nil {
			return nil, &rde.Error{Op: "read", Status: rde.StatusObjectCorrupt}
		}
	}
	if offset > uint64(len(plain)) {
		return nil, &rde.Error{Op: "read", Status: rde.StatusOffsetPastEnd}
	}
	if length == 0 {
		length = math.MaxUint64 - offset
	}
	return &opened{Reader: bytes.NewReader(plain[offset:min(uint64(len(plain)), offset+length)]), etag: n.CRC, fake: c.fake}, nil
}

type opened struct {
	*bytes.Reader
	etag uint32
	fake *Fake
}

func (o *opened) Read(to []byte) (int, error) {
	n, err := o.Reader.Read(to)
	if o.fake.OnUnpacked != nil && err == nil {
		if err := o.fake.OnUnpacked(to[:n]); err != nil {
			return 0, err
		}
	}
	return n, err
}

func (o *opened) Unverified() bool {
	return o.fake.Unverified != nil && o.fake.Unverified(0, math.MaxInt)
}

func (o *opened) Size() int64  { return -1 }
func (o *opened) ETag() uint32 { return o.etag }
func (o *opened) Close() error { return nil }
