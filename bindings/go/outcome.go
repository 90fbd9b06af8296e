package rde

import "github.com/rdma-engine/rdma-engine/bindings/go/internal/ring"

// outcome is how a request ended for its caller: the words of its completion, which fit into registers, or an error of the
// client's own.
type outcome struct {
	head  uint64 // status and flags; blockBack in the place of the lap
	sizes uint64 // bytes and CRC
	value uint64
	err   *Error
}

// blockBack says that the block of the request is the caller's again.
const blockBack = 1

func (o outcome) status() Status { return Status(o.head >> 32) }
func (o outcome) flags() uint16  { return uint16(o.head >> 48) }
func (o outcome) bytes() uint32  { return uint32(o.sizes) }
func (o outcome) crc() uint32    { return uint32(o.sizes >> 32) }
func (o outcome) back() bool     { return o.head&blockBack != 0 }

// answered is a completion as an outcome, with its bytes clamped to the length that was asked for.
func answered(c ring.Completion, length uint32) outcome {
	return outcome{head: c.Head, sizes: c.Sizes&^0xFFFFFFFF | uint64(min(uint32(c.Sizes), length)), value: c.Value}
}
