package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Refused is the engine's own word on why it did not attach this client.
type Refused struct {
	Status      uint16
	Field, Text string
}

func (r *Refused) Error() string { return fmt.Sprintf("refused: %s: %s", r.Field, r.Text) }

// Kinds of failures; errors.Is tells them apart. Others are system errors.
var (
	ErrGone     = errors.New("the engine closed the socket during the attach")
	ErrVersion  = errors.New("version mismatch")
	ErrProtocol = errors.New("the engine does not speak the attach protocol")
)

const maxPath = 107 // bytes of a Unix socket's path

// Dial connects. The path is that of the engine's --socket.
func Dial(ctx context.Context, path string) (*net.UnixConn, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("path of %d bytes is over the kernel's limit of %d; use a shorter one", len(path), maxPath)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unixpacket", path)
	if err != nil {
		return nil, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("dialling gave a %T", conn)
	}
	return unixConn, nil
}

// Offer is the engine's welcome and what came with it. The descriptors are the receiver's.
type Offer struct {
	Welcome layout.AttachWelcome
	Segment int
	Wake    int
	Shards  []int // eventfds
}

// Close closes the descriptors.
func (o *Offer) Close() {
	for _, fd := range append([]int{o.Segment, o.Wake}, o.Shards...) {
		_ = unix.Close(fd)
	}
}

// Ask sends the hello and takes the answer. The connection's deadline bounds it.
func Ask(conn *net.UnixConn, hello *layout.AttachHello) (*Offer, error) {
	if _, err := conn.Write(Bytes(hello)); err != nil {
		return nil, gone(err)
	}
	p, err := receive(conn)
	if err != nil {
		return nil, gone(err)
	}
	offer, err := readOffer(p)
	if err != nil {
		p.close()
	}
	return offer, err
}

func readOffer(p *packet) (*Offer, error) {
	kind, err := p.kind()
	if err != nil {
		return nil, closedOr(p, err)
	}
	switch kind {
	case layout.AttachTypeRefused:
		return nil, readRefused(p)
	case layout.AttachTypeWelcome:
	default:
		return nil, fmt.Errorf("%w: type = %d: want WELCOME or REFUSED", ErrProtocol, kind)
	}
	var offer Offer
	w := &offer.Welcome
	if err := decode(p, w); err != nil {
		return nil, fmt.Errorf("%w: welcome: %w", ErrProtocol, err)
	}
	if w.ABIMajor != layout.ABIMajor || w.LayoutHash != layout.Hash {
		return nil, fmt.Errorf("%w: the engine has ABI %d.%d with hash %#x, this client %d.%d with %#x; install one release on both sides",
			ErrVersion, w.ABIMajor, w.ABIMinor, w.LayoutHash, layout.ABIMajor, layout.ABIMinor, layout.Hash)
	}
	const before = 2 // segment and wake socket
	if len(p.fds) != int(w.Descriptors) || len(p.fds) <= before || len(p.fds) > before+layout.MaxShards {
		return nil, fmt.Errorf("%w: welcome: descriptors = %d and %d came: want 3 to %d", ErrProtocol, w.Descriptors, len(p.fds), before+layout.MaxShards)
	}
	offer.Segment, offer.Wake, offer.Shards = p.fds[0], p.fds[1], p.fds[before:]
	return &offer, nil
}

// Confirm says that the segment is mapped, and waits until it may be used.
func Confirm(conn *net.UnixConn) error {
	mapped := layout.AttachSignal{Magic: layout.AttachMagic, Type: layout.AttachTypeMapped, Size: layout.AttachSignalSize}
	if _, err := conn.Write(Bytes(&mapped)); err != nil {
		return gone(err)
	}
	p, err := receive(conn)
	if err != nil {
		return gone(err)
	}
	defer p.close()
	kind, err := p.kind()
	switch {
	case err != nil:
		return closedOr(p, err)
	case kind == layout.AttachTypeRefused:
		return readRefused(p)
	case kind != layout.AttachTypeAttached:
		return fmt.Errorf("%w: type = %d: want ATTACHED", ErrProtocol, kind)
	}
	return nil
}

func readRefused(p *packet) error {
	var refused layout.AttachRefused
	if err := decode(p, &refused); err != nil {
		return fmt.Errorf("%w: refused: %w", ErrProtocol, err)
	}
	return &Refused{refused.Status, Text(refused.Field[:]), Text(refused.Text[:])}
}

// closedOr: a packet of no bytes is how a sequenced socket says that it was closed.
func closedOr(p *packet, err error) error {
	if len(p.raw) == 0 {
		return ErrGone
	}
	return fmt.Errorf("%w: %w", ErrProtocol, err)
}

func gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
		return ErrGone
	}
	return err
}
