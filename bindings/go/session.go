package rde

import (
	"context"
	"fmt"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Session is a transfer of one or more reads that the engine accounts for, limits in time, and checks as a whole. Sessions are
// shared by the clients of one user; an engine ends those of a client that goes. Its methods may be called from any goroutine.
type Session struct {
	client *Client
	handle uint64
}

// SessionOptions of OpenSession. Zero values mean: the engine chooses.
type SessionOptions struct {
	Peer    Peer          // of all reads in the session
	Timeout time.Duration // after which the session expires, whole nanoseconds up to a day; 0 is the engine's --session-timeout
}

// SessionReport is what a client says of a session that it closes.
type SessionReport struct {
	Failed bool
	Bytes  uint64  // that arrived
	CRC    *uint32 // CRC-32C of all bytes, in the order of the reads; nil leaves them uncompared
}

// SessionResult is what the engine knows of a session that was closed.
type SessionResult struct {
	Bytes      uint64 // that reads in it delivered
	CRC        uint32 // CRC-32C of those, in the order of the reads' completions
	Unverified bool   // a read skipped its check: CRC says nothing
}

// OpenSession opens a session. Errors: too_many_sessions, invalid_request (the timeout), stale_handle or peer_down (the peer).
func (c *Client) OpenSession(ctx context.Context, o SessionOptions) (*Session, error) {
	const name = "open session"
	if o.Timeout < 0 || o.Timeout > 24*time.Hour {
		return nil, &Error{Op: name, Status: StatusInvalidRequest, Field: "timeout", Text: fmt.Sprintf("%v: want 0 (the engine's default) to 24h", o.Timeout)}
	}
	r := layout.Request{Op: layout.OpSessionOpen, Handle: uint64(o.Peer), DeadlineNS: c.deadline(ctx),
		Args: args(layout.SessionOpenArgs{TimeoutNS: uint64(o.Timeout)})}
	out, err := c.do(ctx, name, &r, noBlock)
	if err != nil {
		return nil, err
	}
	return &Session{client: c, handle: out.value}, nil
}

// Handle is the number by which the engine knows the session.
func (s *Session) Handle() uint64 { return s.handle }

// Read is Client.Read in this session. More errors: session_expired, and stale_handle after Close.
func (s *Session) Read(ctx context.Context, id FileID, offset uint64, length int, options ...ReadOption) (*Buffer, ReadInfo, error) {
	return s.client.Read(ctx, Peer(s.handle), id, offset, length, append([]ReadOption{inSession()}, options...)...)
}

// Close ends the session with what the client says of it. Errors: crc_mismatch, with which the session has ended as failed and the
// result is good; session_expired, stale_handle (it was closed), session_not_found.
func (s *Session) Close(ctx context.Context, report SessionReport) (SessionResult, error) {
	told := layout.SessionCloseArgs{Bytes: report.Bytes, Result: layout.SessionResultDone}
	if report.Failed {
		told.Result = layout.SessionResultFailed
	}
	if report.CRC != nil {
		told.CRC, told.Flags = *report.CRC, layout.SessionFlagCRC
	}
	c := s.client
	r := layout.Request{Op: layout.OpSessionClose, Handle: s.handle, DeadlineNS: c.deadline(ctx), Args: args(told)}
	const name = "close session"
	if ctx.Err() != nil {
		return SessionResult{}, contextError(ctx).with(name)
	}
	o, failed := c.begin(ctx, &r, noBlock, true, false)
	if failed != nil {
		return SessionResult{}, failed.with(name)
	}
	out := c.await(ctx, o)
	_, err := c.conclude(name, out, noBlock)
	if out.err != nil || (err != nil && out.status() != StatusCRCMismatch) {
		return SessionResult{}, err
	}
	return SessionResult{Bytes: out.value, CRC: out.crc(), Unverified: out.flags()&layout.CompletionFlagUnverified != 0}, err
}

// inSession says that a read's peer is a session.
func inSession() ReadOption { return func(o *readOptions) { o.session = true } }
