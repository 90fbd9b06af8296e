package rde

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
)

const unpackBytes = 64 << 10 // unpacked at a time

// puller makes a source the io.Reader and io.ByteReader that compress/flate wants.
type puller struct {
	source source
	rest   bytes.Reader
}

func (p *puller) fill() error {
	for p.rest.Len() == 0 {
		b, err := p.source.next()
		if err != nil {
			return err
		}
		p.rest.Reset(b)
	}
	return nil
}

func (p *puller) Read(to []byte) (int, error) {
	if err := p.fill(); err != nil {
		return 0, err
	}
	return p.rest.Read(to)
}

func (p *puller) ReadByte() (byte, error) {
	if err := p.fill(); err != nil {
		return 0, err
	}
	return p.rest.ReadByte()
}

// unpacked streams what gzip-packed bytes hold.
type unpacked struct {
	from   puller
	id     FileID
	gzip   *gzip.Reader
	buffer []byte
	err    error
}

func (u *unpacked) next() ([]byte, error) {
	if u.err != nil {
		return nil, u.err
	}
	if u.gzip == nil {
		if u.gzip, u.err = gzip.NewReader(&u.from); u.err != nil {
			u.err = u.corrupt(u.err)
			return nil, u.err
		}
		u.buffer = make([]byte, unpackBytes)
	}
	n, err := u.gzip.Read(u.buffer)
	if err != nil {
		u.err = u.corrupt(err)
	}
	if n > 0 || u.err == nil {
		return u.buffer[:n], nil
	}
	return nil, u.err
}

// corrupt tells damage of the packed bytes from failures to read them; io.EOF is the end only where gzip itself ended.
func (u *unpacked) corrupt(err error) error {
	var mine *Error
	var status Status
	switch {
	case errors.As(err, &mine), errors.As(err, &status):
		return err
	case err == io.EOF && u.gzip != nil:
		return err
	}
	return &Error{Op: "unpack", Status: StatusObjectCorrupt, Field: "object " + u.id.String(),
		Text: fmt.Sprintf("it is flagged as gzip-packed but does not unpack: %v", err)}
}

func (u *unpacked) close() { u.from.source.close() }

// cut skips bytes of a source, and ends it after so many.
type cut struct {
	source source
	skip   uint64
	left   uint64
	seen   uint64
	ctx    context.Context
}

func (c *cut) next() ([]byte, error) {
	for {
		if c.left == 0 {
			return nil, io.EOF
		}
		if c.ctx.Err() != nil { // unpacking alone never asks it
			return nil, contextError(c.ctx).with("read")
		}
		b, err := c.source.next()
		if err == io.EOF && c.skip > 0 {
			return nil, pastEnd(c.seen+c.skip, c.seen)
		}
		if err != nil {
			return nil, err
		}
		gone := min(c.skip, uint64(len(b)))
		b = b[gone:]
		c.skip -= gone
		c.seen += gone
		if len(b) > 0 {
			b = b[:min(c.left, uint64(len(b)))]
			c.left -= uint64(len(b))
			return b, nil
		}
	}
}

func (c *cut) close() { c.source.close() }
