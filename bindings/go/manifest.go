package rde

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

const maxManifest = 8 << 20 // bytes of JSON: some hundred thousand chunks

// chunk is a part of a manifest: an object that holds bytes offset to offset+size of the whole.
type chunk struct {
	ID     string `json:"fid"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`

	id FileID
}

// manifest is what SeaweedFS stores for an object that was uploaded in chunks.
type manifest struct {
	Size   int64   `json:"size"`
	Chunks []chunk `json:"chunks"`
}

// parseManifest checks that the chunks cover the object from 0 to its size, each byte once.
func parseManifest(id FileID, raw []byte) (*manifest, error) {
	bad := func(why string) (*manifest, error) {
		return nil, &Error{Op: "read manifest", Status: StatusObjectCorrupt, Field: "object " + id.String(), Text: why}
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return bad("it is flagged as a chunk manifest but is no such JSON: " + err.Error())
	}
	slices.SortStableFunc(m.Chunks, func(a, b chunk) int {
		switch {
		case a.Offset < b.Offset:
			return -1
		case a.Offset > b.Offset:
			return 1
		}
		return 0
	})
	var end int64
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if c.Size <= 0 || c.Offset != end || c.Offset+c.Size < c.Offset {
			return bad(fmt.Sprintf("chunk %d has offset %d and size %d: want offset %d and a size over 0", i, c.Offset, c.Size, end))
		}
		end += c.Size
		var err error
		if c.id, err = ParseFileID(c.ID); err != nil {
			return bad(fmt.Sprintf("chunk %d: %v", i, err))
		}
	}
	if end != m.Size {
		return bad(fmt.Sprintf("size = %d: the chunks end at %d", m.Size, end))
	}
	return &m, nil
}

// readAll gathers a source of a bounded size.
func readAll(id FileID, from source) ([]byte, error) {
	var all []byte
	for {
		b, err := from.next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(all)+len(b) > maxManifest {
			return nil, &Error{Op: "read manifest", Status: StatusObjectCorrupt, Field: "object " + id.String(),
				Text: fmt.Sprintf("the chunk manifest is over %d bytes", maxManifest)}
		}
		all = append(all, b...)
	}
}

// joined streams the chunks of a manifest, from within one to within another.
type joined struct {
	s       *stored // the manifest's: where and how to read
	chunks  []chunk
	total   uint64
	at      uint64 // next byte of the whole
	left    uint64
	current *Object
	inside  uint64 // bytes that current has yet to give

	unverified bool // chunks before current gave bytes that nobody has checked
}

// join reads the manifest, lets its buffers go, and places itself at a range. size 0 means to the end.
func (s *stored) join(packed source, offset, size uint64) (*joined, error) {
	raw, err := readAll(s.id, packed)
	packed.close()
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(s.id, raw)
	if err != nil {
		return nil, err
	}
	j := &joined{s: s, chunks: m.Chunks, total: uint64(m.Size), at: offset}
	if offset > j.total {
		return nil, pastEnd(offset, j.total)
	}
	j.left = min(sizeOrAll(size), j.total-offset)
	for len(j.chunks) > 0 && uint64(j.chunks[0].Offset+j.chunks[0].Size) <= offset {
		j.chunks = j.chunks[1:]
	}
	return j, nil
}

func (j *joined) next() ([]byte, error) {
	for {
		if j.current == nil {
			if j.left == 0 {
				return nil, io.EOF
			}
			if err := j.open(); err != nil {
				return nil, err
			}
		}
		err := j.current.fill()
		switch {
		case err == io.EOF && j.inside == 0:
			j.unverified = j.unverified || j.current.Info().Unverified
			_ = j.current.Close()
			j.current, j.chunks = nil, j.chunks[1:]
			continue
		case err == io.EOF:
			return nil, j.wrong(fmt.Sprintf("it ends %d bytes too soon", j.inside))
		case err != nil:
			return nil, err
		}
		b := j.current.rest
		j.current.rest = nil
		if uint64(len(b)) > j.inside {
			return nil, j.wrong("it is longer than the manifest says")
		}
		j.s.info.Unverified = j.unverified || j.current.Info().Unverified
		j.inside -= uint64(len(b))
		j.at += uint64(len(b))
		j.left -= uint64(len(b))
		return b, nil
	}
}

// open starts on the chunk that holds the next byte. A chunk may be on another peer than the manifest.
func (j *joined) open() error {
	c := &j.chunks[0]
	from := j.at - uint64(c.Offset)
	j.inside = min(uint64(c.Size)-from, j.left)
	var err error
	j.current, err = j.openOn(j.s.peer, c, from)
	if errors.Is(err, StatusVolumeNotFound) && j.s.peer != 0 {
		j.current, err = j.openOn(0, c, from)
	}
	if err != nil {
		j.current = nil
		return err
	}
	if j.current.Info().Manifest {
		return j.wrong("it is a manifest itself")
	}
	if size := j.current.Size(); size >= 0 && size != c.Size {
		return j.wrong(fmt.Sprintf("it has %d bytes, the manifest says %d", size, c.Size))
	}
	return nil
}

func (j *joined) openOn(peer Peer, c *chunk, from uint64) (*Object, error) {
	s := j.s
	if from > 0 || j.inside < uint64(c.Size) {
		part, version, err := s.c.openRange(s.ctx, peer, c.id, from, j.inside, s.options)
		switch {
		case err != nil:
			return nil, err
		case part != nil:
			return &Object{source: part, stored: part, size: int64(version.StoredSize)}, nil
		case !version.Gzip || version.Manifest:
			return &Object{source: nothing{}, size: int64(version.StoredSize), info: ReadInfo{Manifest: version.Manifest}}, nil
		}
	}
	part, err := s.c.openWhole(s.ctx, peer, c.id, s.options)
	switch {
	case err != nil:
		return nil, err
	case part.info.Manifest:
		return &Object{source: part, stored: part}, nil
	case from > 0 || j.inside < uint64(c.Size):
		return part.see(from, j.inside)
	}
	return part.see(0, 0)
}

func (j *joined) wrong(what string) error {
	return &Error{Op: "read", Status: StatusObjectCorrupt, Field: "chunk " + j.chunks[0].id.String() + " of object " + j.s.id.String(), Text: what}
}

func (j *joined) close() {
	if j.current != nil {
		_ = j.current.Close()
		j.current = nil
	}
	j.left = 0
}
