// Package engine keeps the sidecar attached to the rdma-engine beside it.
//
//	manager := engine.NewManager(engine.Options{Attach: engine.AttachTo("/run/rdma-engine/attach.sock", logger)})
//	go manager.Run(ctx)
//	if session := manager.Current(); session != nil {
//		stat, err := session.Client.Stat(ctx, 0, id)
//	}
package engine

import (
	"context"
	"io"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

// Peer is a handle of another engine; 0 leaves the choice to the engine.
type Peer uint64

// Client is what the sidecar uses of an attached engine. All methods may be called from many goroutines.
// Errors carry an rde.Status that errors.As finds.
type Client interface {
	Done() <-chan struct{} // closed when the engine is gone
	Err() error            // why
	Close() error
	Connect(ctx context.Context, hostPort string) (Peer, error)
	Ping(ctx context.Context) (Ping, error)
	Capabilities(ctx context.Context) (Capabilities, error)
	Stat(ctx context.Context, peer Peer, id rde.FileID) (Stat, error)
	// Read reads stored bytes: fewer than length where the object ends.
	Read(ctx context.Context, peer Peer, id rde.FileID, offset uint64, length int) (Buffer, ReadInfo, error)
	// Object opens bytes of an object as a reader sees it: unpacked, and with the parts of a manifest joined.
	// length 0 is to the end. The context bounds all its reads.
	Object(ctx context.Context, peer Peer, id rde.FileID, offset, length uint64) (Object, error)
	MaxRead() int // largest length of one Read, in bytes
}

// Buffer is memory that the engine wrote. Its bytes are valid until Release.
type Buffer interface {
	Bytes() []byte
	Release()
}

// Object is an object as a reader sees it.
type Object interface {
	io.ReadCloser
	Size() int64  // of the whole; negative where only unpacking would tell
	ETag() uint32 // CRC-32C of the stored bytes
	// Unverified tells whether bytes were read that nobody has checked against a CRC-32C.
	Unverified() bool
}

// Ping is one round trip.
type Ping struct {
	EngineTime time.Duration // CLOCK_MONOTONIC of the engine
	RTT        time.Duration
}

// Capabilities is what the engine says of itself.
type Capabilities struct {
	Version        string
	Transport      string
	Device         string
	PortGID        string
	PortLID        uint16
	VendorID       uint32
	MaxTransfer    uint64
	MaxSessions    uint64
	ActiveSessions uint64
	Peers          uint32
	Volumes        uint32
	RealRDMA       bool
}

// Stat is an object's metadata. Sizes count stored bytes.
type Stat struct {
	StoredSize   uint64
	LastModified time.Time // zero = unknown
	ETag         uint32
	Gzip         bool
	Manifest     bool
	Mime         string
	Name         string
}

// ReadInfo comes with each read.
type ReadInfo struct {
	Bytes      int
	ObjectSize uint64
	CRC        uint32 // CRC-32C of these bytes
	Gzip       bool
	Manifest   bool
	End        bool
	Unverified bool
	Local      bool
}
