package rde

import (
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// DefaultSocket is where an engine listens unless it is told otherwise.
const DefaultSocket = "/run/rdma-engine/attach.sock"

// Options say where to attach, and what to ask for. The zero value attaches to DefaultSocket with the engine's defaults.
type Options struct {
	Socket      string        // path of the attach socket; "" = DefaultSocket
	Channels    int           // pairs of rings, 1 to 4096; 0 = the engine's default
	Depth       int           // slots of a request ring, a power of two, 2 to 4096; 0 = the engine's default
	SegmentSize int64         // bytes, at least 2 MiB; 0 = the engine's default
	Name        string        // what tools call this client, at most 31 bytes; "" = the program's name
	SpinFor     time.Duration // a caller polls so long before it blocks; 0 = a default, negative = not at all
	Logger      *slog.Logger  // nil = silent
}

func (o *Options) hello() (*layout.AttachHello, error) {
	bad := func(field string, value any, want string) (*layout.AttachHello, error) {
		return nil, &Error{Op: "attach", Status: StatusInvalidRequest, Field: field, Text: fmt.Sprintf("%v: want %s", value, want)}
	}
	switch {
	case o.Channels < 0 || o.Channels > layout.MaxChannels:
		return bad("channels", o.Channels, "1 to 4096, or 0 for the engine's default")
	case o.Depth != 0 && (o.Depth < layout.MinDepth || o.Depth > layout.MaxDepth || bits.OnesCount(uint(o.Depth)) != 1):
		return bad("depth", o.Depth, "a power of two from 2 to 4096, or 0 for the engine's default")
	case o.SegmentSize != 0 && o.SegmentSize < layout.MinSegment:
		return bad("segment_size", o.SegmentSize, "at least 2097152 bytes, or 0 for the engine's default")
	}
	hello := &layout.AttachHello{
		Magic: layout.AttachMagic, Type: layout.AttachTypeHello, Size: layout.AttachHelloSize,
		EndianMark: layout.EndianMark, ABIMajor: layout.ABIMajor, ABIMinor: layout.ABIMinor, LayoutHash: layout.Hash,
		HeaderSize: layout.SegmentHeaderSize, RequestSize: layout.RequestSize, CompletionSize: layout.CompletionSize,
		PageSize: uint32(os.Getpagesize()), SegmentSize: uint64(o.SegmentSize),
		Channels: uint32(o.Channels), Depth: uint32(o.Depth), Role: layout.RoleClient,
	}
	name := o.Name
	if name == "" && len(os.Args) > 0 {
		name = filepath.Base(os.Args[0])
	}
	copy(hello.Name[:len(hello.Name)-1], name)
	return hello, nil
}

func (o *Options) socket() string {
	if o.Socket == "" {
		return DefaultSocket
	}
	return o.Socket
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}
