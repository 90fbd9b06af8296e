package rde

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// RegionToken lets whoever has it use a region, from any engine that can reach the one that made it. It is a secret.
type RegionToken [layout.RegionTokenSize]byte

// RegionRights are what a token allows.
type RegionRights uint32

// Bits of RegionRights.
const (
	RegionRead   RegionRights = layout.RegionRightRead
	RegionWrite  RegionRights = layout.RegionRightWrite
	RegionAtomic RegionRights = layout.RegionRightAtomic // FetchAdd and CompareSwap
)

// ExposedRegion is memory of the segment that token holders may reach. Others write to it at any time, so what is read from it is to
// be checked as bytes of a network are. Its methods may be called from any goroutine.
type ExposedRegion struct {
	client *Client
	handle uint64
	token  RegionToken

	mutex sync.Mutex
	block arena.Block
	bytes []byte
}

// ExposeRegion lends zeroed memory of the segment and exposes it, for a lifetime of whole milliseconds up to a day, or for the
// engine's default (0). Errors: too_many_regions, out_of_buffers, invalid_request.
func (c *Client) ExposeRegion(ctx context.Context, length int, rights RegionRights, lifetime time.Duration) (*ExposedRegion, error) {
	const name = "expose region"
	if lifetime < 0 || lifetime > 24*time.Hour {
		return nil, &Error{Op: name, Status: StatusInvalidRequest, Field: "lifetime", Text: fmt.Sprintf("%v: want 0 (the engine's default) to 24h", lifetime)}
	}
	if length < 1 {
		return nil, &Error{Op: name, Status: StatusLengthZero, Field: "length", Text: lengthText(length, c.MaxRead())}
	}
	block, failed := c.borrow(ctx, length)
	if failed != nil {
		return nil, failed.with(name)
	}
	region := &ExposedRegion{client: c, block: block, bytes: c.memory(block, uint32(length))}
	clear(region.bytes)
	page, failed := c.borrowPage(ctx)
	if failed != nil {
		c.giveBack(block)
		return nil, failed.with(name)
	}
	r := layout.Request{Op: layout.OpRegionExpose, DeadlineNS: c.deadline(ctx), BufferPage: page.Page, Length: layout.RegionTokenSize,
		Args: args(layout.RegionExposeArgs{Offset: uint64(block.Page) * layout.ArenaPage, Length: uint64(length),
			Rights: uint32(rights), LifetimeMs: uint32((lifetime + time.Millisecond - 1) / time.Millisecond)})}
	out, err := c.do(ctx, name, &r, page)
	if err != nil {
		// Where the engine has not said no, it may have exposed the memory all the same: then that is lost until the Client goes.
		if refused(err) {
			c.giveBack(block)
		}
		return nil, err
	}
	defer c.giveBack(page)
	region.handle = out.value
	if copy(region.token[:], c.memory(page, out.bytes())) != layout.RegionTokenSize {
		return nil, shortAnswer(name, out.bytes(), layout.RegionTokenSize)
	}
	return region, nil
}

// refused says that the engine has answered, or that nothing of this Client is exposed any more.
func refused(err error) bool {
	var failed *Error
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.Status {
	case StatusDeadlineExceeded, StatusCancelled:
		return false
	default:
		return true
	}
}

// ended says of a failed revoke that the engine knows no such region, or that there is no engine any more. After any other error, also
// one of resources, somebody may still write to the memory.
func ended(err error) bool {
	for _, status := range []Status{StatusStaleHandle, StatusInvalidHandle, StatusEngineGone, StatusEngineBroken} {
		if errors.Is(err, status) {
			return true
		}
	}
	return errors.Is(err, ErrDetached)
}

// Token is what others need.
func (e *ExposedRegion) Token() RegionToken { return e.token }

// Bytes is the memory; nil after Revoke. It must not be used after that.
func (e *ExposedRegion) Bytes() []byte {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.bytes
}

// Revoke ends the region: when it returns without an error nobody reaches its memory any more, and that is given back. After an error
// of time or of resources it can be called again; after the first success it does nothing.
func (e *ExposedRegion) Revoke(ctx context.Context) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.bytes == nil {
		return nil
	}
	c := e.client
	r := layout.Request{Op: layout.OpRegionRevoke, Handle: e.handle, DeadlineNS: c.deadline(ctx)}
	_, err := c.do(ctx, "revoke region", &r, noBlock)
	if err != nil && !ended(err) {
		return err
	}
	e.bytes = nil
	c.giveBack(e.block)
	return err
}

// Region is a region of another client, opened by its token. Its methods may be called from any goroutine. Each use is checked by the
// engine that made the token. Errors of all: region_not_found, region_revoked, region_expired, region_denied, region_out_of_range, those
// of the network, and stale_handle after Close. A transfer that fails may have moved a part.
type Region struct {
	client *Client
	handle uint64
}

// OpenRegion makes a token usable. peer is the engine that made it, or 0 where it is this Client's own. Errors: not_supported (a peer
// without regions), invalid_handle, stale_handle, peer_down, too_many_regions.
func (c *Client) OpenRegion(ctx context.Context, peer Peer, token RegionToken) (*Region, error) {
	const name = "open region"
	block, failed := c.borrowPage(ctx)
	if failed != nil {
		return nil, failed.with(name)
	}
	copy(c.memory(block, layout.RegionTokenSize), token[:])
	r := layout.Request{Op: layout.OpRegionOpen, Handle: uint64(peer), DeadlineNS: c.deadline(ctx), BufferPage: block.Page, Length: layout.RegionTokenSize}
	out, err := c.do(ctx, name, &r, block)
	if err != nil {
		return nil, err
	}
	c.giveBack(block)
	return &Region{client: c, handle: out.value}, nil
}

// Read reads bytes of the region into a Buffer, which the caller releases.
func (r *Region) Read(ctx context.Context, offset uint64, length int) (*Buffer, error) {
	const name = "read region"
	c := r.client
	if length < 1 {
		return nil, &Error{Op: name, Status: StatusLengthZero, Field: "length", Text: lengthText(length, c.MaxRead())}
	}
	block, failed := c.borrow(ctx, length)
	if failed != nil {
		return nil, failed.with(name)
	}
	request := r.transfer(ctx, layout.OpRegionRead, offset, block, length)
	out, err := c.do(ctx, name, &request, block)
	if err != nil {
		return nil, err
	}
	if int(out.bytes()) != length {
		c.giveBack(block)
		return nil, shortAnswer(name, out.bytes(), length)
	}
	return &Buffer{client: c, block: block, bytes: c.memory(block, uint32(length))}, nil
}

// Write writes bytes to the region. When it returns without an error they are there.
func (r *Region) Write(ctx context.Context, offset uint64, data []byte) error {
	const name = "write region"
	c := r.client
	if len(data) == 0 {
		return &Error{Op: name, Status: StatusLengthZero, Field: "data", Text: lengthText(0, c.MaxRead())}
	}
	block, failed := c.borrow(ctx, len(data))
	if failed != nil {
		return failed.with(name)
	}
	copy(c.memory(block, uint32(len(data))), data)
	request := r.transfer(ctx, layout.OpRegionWrite, offset, block, len(data))
	if _, err := c.do(ctx, name, &request, block); err != nil {
		return err
	}
	c.giveBack(block)
	return nil
}

func (r *Region) transfer(ctx context.Context, op uint8, offset uint64, block arena.Block, length int) layout.Request {
	return layout.Request{Op: op, Handle: r.handle, DeadlineNS: r.client.deadline(ctx), BufferPage: block.Page, Length: uint32(length),
		Args: args(layout.RegionArgs{Offset: offset})}
}

// FetchAdd adds to the word of 8 bytes at offset, a multiple of 8, and answers what it was. It is atomic for every process that has the
// word mapped. One more error: region_misaligned.
func (r *Region) FetchAdd(ctx context.Context, offset, add uint64) (uint64, error) {
	return r.word(ctx, "fetch add", layout.OpFetchAdd, args(layout.FetchAddArgs{Offset: offset, Add: add}))
}

// CompareSwap replaces the word where it is compare, and answers what it was. Otherwise as FetchAdd.
func (r *Region) CompareSwap(ctx context.Context, offset, compare, swap uint64) (uint64, error) {
	return r.word(ctx, "compare swap", layout.OpCompareSwap, args(layout.CompareSwapArgs{Offset: offset, Compare: compare, Swap: swap}))
}

// Flush returns when every write to the region that was begun before is visible to its owner.
func (r *Region) Flush(ctx context.Context) error {
	_, err := r.word(ctx, "flush", layout.OpFlush, [24]uint8{})
	return err
}

// Close gives the handle back; the region itself stays.
func (r *Region) Close(ctx context.Context) error {
	_, err := r.word(ctx, "close region", layout.OpRegionClose, [24]uint8{})
	return err
}

func (r *Region) word(ctx context.Context, name string, op uint8, arguments [24]uint8) (uint64, error) {
	request := layout.Request{Op: op, Handle: r.handle, DeadlineNS: r.client.deadline(ctx), Args: arguments}
	out, err := r.client.do(ctx, name, &request, noBlock)
	if err != nil {
		return 0, err
	}
	return out.value, nil
}
