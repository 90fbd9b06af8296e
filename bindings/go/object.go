package rde

import (
	"context"
	"io"
	"math"
)

// Object is an object as a reader sees it: unpacked, and with the parts of a manifest joined. It is an io.Reader and an
// io.WriterTo; WriteTo writes from the segment itself where nothing has to be unpacked. The context that it was opened with
// bounds all its reads. The caller closes it. One goroutine at a time uses an Object.
//
//	object, err := client.ReadObject(ctx, 0, id)
//	if err != nil { … }
//	defer object.Close()
//	_, err = io.Copy(w, object)
type Object struct {
	source source
	rest   []byte
	size   int64
	length int64
	etag   uint32
	info   ReadInfo
	stored *stored // of the object itself, for its info
	err    error
}

// ReadObject opens an object. Bytes are handed out as they come; an object that is replaced meanwhile ends in an error
// (volume_changing), before its last bytes. Errors: as of Read, at once or from the Object's methods.
func (c *Client) ReadObject(ctx context.Context, peer Peer, id FileID, options ...ReadOption) (*Object, error) {
	o := gather(options)
	s, err := c.openWhole(ctx, peer, id, o)
	if err != nil {
		return nil, err
	}
	return s.see(0, 0)
}

// ReadRange opens bytes of an object, counted as a reader sees them. size 0 means to the end; where the object ends
// sooner, it is shorter. Errors: as of ReadObject; offset_past_end where offset is over the size (at the size it is empty).
func (c *Client) ReadRange(ctx context.Context, peer Peer, id FileID, offset, size uint64) (*Object, error) {
	if offset == 0 && size == 0 {
		return c.ReadObject(ctx, peer, id)
	}
	s, version, err := c.openRange(ctx, peer, id, offset, size, readOptions{})
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return &Object{source: s, stored: s, size: int64(version.StoredSize), length: int64(s.end - s.pos), etag: version.ETag}, nil
	case !version.Gzip && !version.Manifest: // offset is the end
		info := ReadInfo{ObjectSize: version.StoredSize, End: true}
		return &Object{source: nothing{}, size: int64(version.StoredSize), etag: version.ETag, info: info}, nil
	}
	if s, err = c.openWhole(ctx, peer, id, readOptions{}); err != nil {
		return nil, err
	}
	return s.see(offset, size)
}

// see makes what a reader sees of a whole stored object. It closes s on an error.
func (s *stored) see(offset, size uint64) (*Object, error) {
	o := &Object{stored: s, etag: s.version.ETag, source: s, size: -1, length: -1}
	if s.info.Gzip {
		o.source = &unpacked{from: puller{source: s}, id: s.id}
	} else {
		o.size = int64(s.end)
	}
	if s.info.Manifest {
		j, err := s.join(o.source, offset, size)
		if err != nil {
			return nil, err
		}
		o.source, o.size, o.length = j, int64(j.total), int64(j.left)
		return o, nil
	}
	if offset > 0 || size > 0 {
		o.source = &cut{source: o.source, skip: offset, left: sizeOrAll(size), ctx: s.ctx}
		return o, o.settle()
	}
	o.length = o.size
	return o, nil
}

// settle skips to the start of a range, so that a range past the end fails when it is opened.
func (o *Object) settle() error {
	b, err := o.source.next()
	if err != nil && err != io.EOF {
		_ = o.Close()
		return err
	}
	if err == io.EOF {
		o.err = err
	}
	o.rest = b
	return nil
}

func sizeOrAll(size uint64) uint64 {
	if size == 0 {
		return math.MaxUint64
	}
	return size
}

// Size of the whole object in bytes as a reader sees it; -1 where only unpacking would tell.
func (o *Object) Size() int64 { return o.size }

// Len is how many bytes this Object gives in all: Size, or less for a range; -1 where only unpacking would tell.
func (o *Object) Len() int64 { return o.length }

// ETag is the CRC-32C of the stored bytes, as SeaweedFS's ETag shows it with eight hex digits.
func (o *Object) ETag() uint32 { return o.etag }

// Info is what the first answer said of the stored bytes, with what later answers changed: Unverified and Local.
func (o *Object) Info() ReadInfo {
	if o.stored != nil {
		return o.stored.info
	}
	return o.info
}

// fill makes rest hold something.
func (o *Object) fill() error {
	for len(o.rest) == 0 {
		if o.err == nil {
			o.rest, o.err = o.source.next()
		}
		if o.err != nil {
			o.rest = nil
			return o.err
		}
	}
	return nil
}

// Read copies.
func (o *Object) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := o.fill(); err != nil {
		return 0, err
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// WriteTo writes all that is left.
func (o *Object) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := o.fill(); err != nil {
			if err == io.EOF {
				err = nil
			}
			return written, err
		}
		n, err := w.Write(o.rest)
		written += int64(n)
		o.rest = o.rest[n:]
		if err != nil {
			return written, err
		}
	}
}

// Close gives buffers back and cancels what is under way. Reads fail with ErrDetached afterwards. It may be called more than once.
func (o *Object) Close() error {
	o.rest, o.err = nil, ErrDetached
	o.source.close()
	return nil
}

// nothing is an empty source.
type nothing struct{}

func (nothing) next() ([]byte, error) { return nil, io.EOF }
func (nothing) close()                {}
