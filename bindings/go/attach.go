package rde

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/arena"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/attach"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/doorbell"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/segment"
)

const (
	attachTimeout = 10 * time.Second // of a context without a deadline
	controlPages  = 64               // at most
)

// Attach connects to an engine and maps the segment that it makes for this client. It takes as long as ctx allows, at most
// 10 s where ctx has no deadline. Errors: attach_refused and the engine's other verdicts with the field and the text it gave,
// version_mismatch, segment_invalid, segment_not_ready, engine_gone, deadline_exceeded, system_error.
func Attach(ctx context.Context, o Options) (*Client, error) {
	hello, err := o.hello()
	if err != nil {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, attachTimeout)
		defer cancel()
	}
	conn, err := attach.Dial(ctx, o.socket())
	if err != nil {
		return nil, attachError(ctx, o.socket(), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c, err := shake(conn, hello, &o)
	if !stop() && err == nil {
		_ = c.Close()
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, attachError(ctx, o.socket(), err)
	}
	c.log.Info("attached", "socket", o.socket(), "client", c.welcome.ClientNumber, "epoch", c.welcome.Epoch,
		"engine", attach.Text(c.welcome.Version[:]), "channels", len(c.channels), "bytes", len(c.resources.memory))
	return c, nil
}

// shake is the handshake, and the check of what came of it.
func shake(conn *net.UnixConn, hello *layout.AttachHello, o *Options) (*Client, error) {
	offer, err := attach.Ask(conn, hello)
	if err != nil {
		return nil, err
	}
	memory, err := segment.Map(offer.Segment, offer.Welcome.TotalSize)
	if err != nil {
		offer.Close()
		return nil, err
	}
	c, err := build(conn, memory, offer, o)
	if err != nil {
		_ = segment.Unmap(memory)
		offer.Close()
		return nil, err
	}
	_ = unix.Close(offer.Segment) // the mapping holds it
	c.running.Add(2)
	go c.watch()
	go c.poll()
	return c, nil
}

// build makes a client of a mapped segment; memory and descriptors stay the caller's on an error.
func build(conn *net.UnixConn, memory []byte, offer *attach.Offer, o *Options) (*Client, error) {
	if err := attach.Confirm(conn); err != nil {
		return nil, err
	}
	header, err := segment.ReadHeader(memory)
	if err != nil {
		return nil, err
	}
	w := &offer.Welcome
	switch {
	case int(header.ShardCount) != len(offer.Shards):
		return nil, segmentInvalid("shard_count", uint64(header.ShardCount), fmt.Sprintf("the %d eventfds that came", len(offer.Shards)))
	case header.Epoch != w.Epoch:
		return nil, segmentInvalid("epoch", header.Epoch, fmt.Sprintf("%d, as in the welcome", w.Epoch))
	case header.ClientNumber != w.ClientNumber:
		return nil, segmentInvalid("client_number", header.ClientNumber, fmt.Sprintf("%d, as in the welcome", w.ClientNumber))
	}
	c := &Client{log: o.logger(), welcome: *w, conn: conn, done: make(chan struct{}), spin: newSpinPolicy(o.SpinFor), patience: defaultTimeout,
		resources: &resources{memory: memory, shards: offer.Shards}}
	if c.clock, err = newClock(); err != nil {
		return nil, fmt.Errorf("clock_gettime(CLOCK_MONOTONIC): %w", err)
	}
	if err := c.lay(memory, header, 0); err != nil {
		return nil, err
	}
	for _, fd := range append([]int{offer.Wake}, offer.Shards...) {
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, fmt.Errorf("fcntl(O_NONBLOCK) of a descriptor of the welcome: %w", err)
		}
	}
	if kind, err := unix.GetsockoptInt(offer.Wake, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM {
		return nil, &Error{Status: StatusSegmentInvalid, Field: "wake descriptor", Text: "want a stream socket", Cause: err}
	}
	c.resources.refs.Store(int64(len(c.channels)) + 1) // the poller is one
	c.wake = os.NewFile(uintptr(offer.Wake), "wake socket of rdma-engine")
	return c, nil
}

// lay finds everything in the segment, whose rings are at position start: 0 in a fresh one.
func (c *Client) lay(memory []byte, header layout.SegmentHeader, start uint64) (err error) {
	if c.view, err = segment.NewView(memory, header); err != nil {
		return err
	}
	if c.page, err = c.view.ClientPage(); err != nil {
		return err
	}
	for shard := range header.ShardCount {
		bell, err := c.view.Doorbell(shard)
		if err != nil {
			return err
		}
		c.ringers = append(c.ringers, doorbell.NewRinger(bell))
	}
	own, err := c.view.Doorbell(header.ShardCount)
	if err != nil {
		return err
	}
	c.sleeper = doorbell.NewSleeper(own, header.ChannelCount)
	c.buffers = c.view.Arena()
	pages := uint32(len(c.buffers) / layout.ArenaPage)
	// Answers of a page have pages of their own: who waits for one may hold data blocks, and never the other way round.
	data := pages - max(1, min(controlPages, pages/16))
	c.arena, c.control = arena.New(0, data), arena.New(data, pages-data)
	for i := range header.ChannelCount {
		ch, err := newChannel(c, i, start)
		if err != nil {
			return err
		}
		c.channels = append(c.channels, ch)
	}
	return nil
}

func segmentInvalid(field string, value uint64, want string) *Error {
	return &Error{Status: StatusSegmentInvalid, Field: field, Text: fmt.Sprintf("%d: want %s", value, want)}
}

// attachError names what went wrong in the terms of this package.
func attachError(ctx context.Context, socket string, err error) *Error {
	var mine *Error
	var refused *attach.Refused
	failed := &Error{Op: "attach", Field: "socket " + socket, Text: err.Error(), Cause: nil}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		<-ctx.Done() // a socket may see the deadline a moment before the context does
	}
	switch {
	case errors.As(err, &mine):
		return mine.with("attach")
	case errors.As(err, &refused):
		return &Error{Op: "attach", Status: Status(refused.Status), Field: refused.Field, Text: refused.Text}
	case ctx.Err() != nil:
		ended := contextError(ctx)
		failed.Status, failed.Text, failed.Cause = ended.Status, "the engine did not attach this client in time", ended.Cause
	case errors.Is(err, attach.ErrVersion), errors.Is(err, segment.ErrVersion):
		failed.Status = StatusVersionMismatch
	case errors.Is(err, segment.ErrNotReady):
		failed.Status = StatusSegmentNotReady
	case errors.Is(err, segment.ErrInvalid):
		failed.Status = StatusSegmentInvalid
	case errors.Is(err, attach.ErrProtocol):
		failed.Status = StatusEngineBroken
	case errors.Is(err, attach.ErrGone):
		failed.Status = StatusEngineGone
	default:
		failed.Status, failed.Text, failed.Cause = StatusSystemError, "is the engine running, and may this user connect?", err
	}
	return failed
}
