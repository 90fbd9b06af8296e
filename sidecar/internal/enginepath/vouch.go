package enginepath

import (
	"context"
	"fmt"
	"hash/crc32"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

const (
	firstLook   = time.Millisecond // after which the engine is asked whether it has checked the object
	longestLook = 50 * time.Millisecond
	patience    = 500 * time.Millisecond // with the engine's check, where somebody else can be asked
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func hex8(value uint32) string { return fmt.Sprintf("%08x", value) }

// older is the form in which old volumes store a CRC-32C.
func older(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// Sum is the CRC-32C of bytes that come one after the other.
type Sum uint32

// Add adds bytes.
func (s *Sum) Add(bytes []byte) { *s = Sum(crc32.Update(uint32(*s), castagnoli, bytes)) }

// Fits tells whether these are the bytes of an object with this ETag.
func (s Sum) Fits(etag string) bool { return etag == hex8(uint32(s)) || etag == hex8(older(uint32(s))) }

func fits(sum, etag uint32) bool { return sum == etag || older(sum) == etag }

// vouch waits until the engine has checked the whole object against its CRC-32C. The engine does so once a part was
// asked for, and says with each part whether it has. Bytes of a part must not go out before: no checksum of their own
// would tell that they are wrong.
func (p *Path) vouch(ctx context.Context, to target, id rde.FileID) error {
	limit := p.options.Timeout
	if p.options.Servers.HasAny() {
		limit = min(limit, patience)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for wait := firstLook; ; wait = min(2*wait, longestLook) {
		select {
		case <-ctx.Done():
			return ErrUnverified
		case <-time.After(wait):
		}
		buffer, info, err := to.session.Client.Read(ctx, to.peer, id, 0, 1)
		if err != nil && ctx.Err() != nil {
			return ErrUnverified
		}
		if err != nil {
			return err
		}
		buffer.Release()
		if !info.Unverified {
			return nil
		}
	}
}
