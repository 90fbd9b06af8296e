package rde

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/attach"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Peer is a handle of another engine that this one is connected to. 0 lets the engine choose. Handles die with the Client.
type Peer uint64

// deadline of a request in CLOCK_MONOTONIC nanoseconds; an operation without one of its own gets the default.
func (c *Client) deadline(ctx context.Context) uint64 {
	if at, bounded := ctx.Deadline(); bounded {
		return c.clock.at(at)
	}
	return c.clock.at(time.Now().Add(c.patience))
}

// do carries a request out. After a good answer its block is the caller's again; else it is given back.
func (c *Client) do(ctx context.Context, name string, r *layout.Request, block arena.Block) (outcome, error) {
	if ctx.Err() != nil {
		c.giveBack(block)
		return outcome{}, contextError(ctx).with(name)
	}
	o, err := c.begin(ctx, r, block, true, false)
	if err != nil {
		return outcome{}, err.with(name)
	}
	return c.conclude(name, c.await(ctx, o), block)
}

// conclude turns everything but a good answer into an error, and gives its block back.
func (c *Client) conclude(name string, out outcome, block arena.Block) (outcome, error) {
	if out.err == nil && out.status() == StatusOk && out.flags()&layout.CompletionFlagMore == 0 {
		return out, nil
	}
	failed := out.err
	switch {
	case failed != nil:
	case out.status() != StatusOk:
		failed = &Error{Status: out.status()}
	default:
		failed = &Error{Status: StatusEngineBroken, Field: "completion.flags", Text: "a good answer whose buffer is not free"}
	}
	if out.back() {
		c.giveBack(block)
	}
	return outcome{}, failed.with(name)
}

// Nop asks the engine to do nothing, and waits until it did. It allocates nothing.
func (c *Client) Nop(ctx context.Context) error {
	r := layout.Request{Op: layout.OpNop}
	if at, bounded := ctx.Deadline(); bounded {
		r.DeadlineNS = c.clock.at(at)
	}
	_, err := c.do(ctx, "nop", &r, noBlock)
	return err
}

// PingResult is what Ping measured.
type PingResult struct {
	EngineTime time.Duration // CLOCK_MONOTONIC of the engine when it answered
	RTT        time.Duration
}

// Ping measures a round trip.
func (c *Client) Ping(ctx context.Context) (PingResult, error) {
	sent := time.Now()
	r := layout.Request{Op: layout.OpPing, DeadlineNS: c.deadline(ctx), Args: args(layout.PingArgs{SentNS: c.clock.at(sent)})}
	out, err := c.do(ctx, "ping", &r, noBlock)
	if err != nil {
		return PingResult{}, err
	}
	return PingResult{EngineTime: time.Duration(out.value), RTT: time.Since(sent)}, nil
}

const maxHostPort = 300 // bytes: a DNS name, brackets and a port

// Connect opens a connection to another engine at "host:port". Errors: invalid_address, peer_not_allowed, peer_unreachable,
// authentication_failed, peer_version, too_many_peers.
func (c *Client) Connect(ctx context.Context, hostPort string) (Peer, error) {
	const name = "connect"
	if hostPort == "" || len(hostPort) > maxHostPort {
		return 0, &Error{Op: name, Status: StatusInvalidAddress, Field: "address", Text: fmt.Sprintf("%d bytes: want host:port of 1 to %d", len(hostPort), maxHostPort)}
	}
	block, failed := c.borrowPage(ctx)
	if failed != nil {
		return 0, failed.with(name)
	}
	copy(c.memory(block, uint32(len(hostPort))), hostPort)
	r := layout.Request{Op: layout.OpConnect, DeadlineNS: c.deadline(ctx), BufferPage: block.Page, Length: uint32(len(hostPort))}
	out, err := c.do(ctx, name, &r, block)
	if err != nil {
		return 0, err
	}
	c.giveBack(block)
	return Peer(out.value), nil
}

// Disconnect closes a peer. Errors: invalid_handle, stale_handle.
func (c *Client) Disconnect(ctx context.Context, peer Peer) error {
	r := layout.Request{Op: layout.OpDisconnect, Handle: uint64(peer), DeadlineNS: c.deadline(ctx)}
	_, err := c.do(ctx, "disconnect", &r, noBlock)
	return err
}

// Capabilities is what an engine can do.
type Capabilities struct {
	ABIMajor, ABIMinor          uint32
	Features                    uint64
	MaxTransfer                 uint64        // bytes of one request
	MaxSessions, ActiveSessions uint64        // of all clients
	SessionTimeout              time.Duration // of a session that names none
	Peers, Volumes              uint32
	VendorID                    uint32
	PortLID                     uint16
	RealRDMA                    bool
	Version, Transport          string
	Device, PortGID             string
}

// Capabilities asks the engine what it can do.
func (c *Client) Capabilities(ctx context.Context) (Capabilities, error) {
	const name = "capabilities"
	var raw layout.Capabilities
	size := int(unsafe.Sizeof(raw))
	block, failed := c.borrowPage(ctx)
	if failed != nil {
		return Capabilities{}, failed.with(name)
	}
	r := layout.Request{Op: layout.OpCapabilities, DeadlineNS: c.deadline(ctx), BufferPage: block.Page, Length: uint32(size)}
	out, err := c.do(ctx, name, &r, block)
	if err != nil {
		return Capabilities{}, err
	}
	defer c.giveBack(block)
	if int(out.bytes()) < size {
		return Capabilities{}, shortAnswer(name, out.bytes(), size)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&raw)), size), c.memory(block, out.bytes()))
	return Capabilities{
		ABIMajor: raw.ABIMajor, ABIMinor: raw.ABIMinor, Features: raw.Features, MaxTransfer: raw.MaxTransfer,
		MaxSessions: raw.MaxSessions, ActiveSessions: raw.ActiveSessions, SessionTimeout: time.Duration(raw.SessionTimeoutNS), Peers: raw.Peers, Volumes: raw.Volumes,
		VendorID: raw.VendorID, PortLID: raw.PortLid, RealRDMA: raw.RealRDMA != 0,
		Version: attach.Text(raw.Version[:]), Transport: attach.Text(raw.Transport[:]),
		Device: attach.Text(raw.Device[:]), PortGID: attach.Text(raw.PortGid[:]),
	}, nil
}

func shortAnswer(name string, got uint32, want int) *Error {
	return &Error{Op: name, Status: StatusEngineBroken, Field: "completion.bytes", Text: fmt.Sprintf("%d: want at least %d", got, want)}
}

func lengthText(length, most int) string {
	return fmt.Sprintf("%d: want 1 to %d; read in pieces, or attach with a larger segment", length, most)
}

// args are the operation's own bytes of a request.
func args[T layout.ObjectArgs | layout.CancelArgs | layout.PingArgs | layout.SessionOpenArgs | layout.SessionCloseArgs |
	layout.RegionExposeArgs | layout.RegionArgs | layout.FetchAddArgs | layout.CompareSwapArgs](t T) [24]uint8 {
	return *(*[24]uint8)(unsafe.Pointer(&t))
}
