package volume

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

const (
	flagGzip         = 0x01
	flagName         = 0x02
	flagMime         = 0x04
	flagLastModified = 0x08
	flagTTL          = 0x10
	flagPairs        = 0x20
	flagManifest     = 0x80

	headerSize = 16 // cookie 4, id 8, size 4
)

// Needle is one object as a record of the .dat file holds it.
type Needle struct {
	Cookie       uint32
	Key          uint64
	Data         []byte // as stored: packed when Gzip
	Gzip         bool
	Manifest     bool
	Name         string
	Mime         string
	LastModified time.Time // zero when the record has none
	Pairs        map[string]string
	CRC          uint32

	ttl      time.Duration
	appended time.Time
}

// ETag is the CRC-32C of the stored data, in eight hex digits, without quotes.
func (n *Needle) ETag() string { return fmt.Sprintf("%08x", n.CRC) }

// Expired tells whether the time to live of the object has passed at the given time.
func (n *Needle) Expired(now time.Time) bool {
	return n.ttl > 0 && !n.appended.IsZero() && now.After(n.appended.Add(n.ttl))
}

// ErrCorrupt says that a record is not what its index entry promises.
var ErrCorrupt = errors.New("corrupt record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseNeedle reads a record of format version 2 or 3. size is the size that the index gives.
func parseNeedle(record []byte, size uint32, version byte) (*Needle, error) {
	if len(record) < headerSize+int(size)+4 {
		return nil, fmt.Errorf("%w: %d bytes are too few for size %d", ErrCorrupt, len(record), size)
	}
	n := &Needle{Cookie: binary.BigEndian.Uint32(record), Key: binary.BigEndian.Uint64(record[4:])}
	if got := binary.BigEndian.Uint32(record[12:]); got != size {
		return nil, fmt.Errorf("%w: size %d, index says %d", ErrCorrupt, got, size)
	}
	body, trailer := record[headerSize:headerSize+size], record[headerSize+size:]
	if version >= 3 && len(trailer) >= 12 {
		n.appended = time.Unix(0, int64(binary.BigEndian.Uint64(trailer[4:])))
	}
	if size == 0 {
		return n, nil
	}
	if err := n.parseBody(body); err != nil {
		return nil, err
	}
	n.CRC = crc32.Checksum(n.Data, castagnoli)
	stored := binary.BigEndian.Uint32(trailer)
	if older := (n.CRC>>15 | n.CRC<<17) + 0xa282ead8; stored != n.CRC && stored != older {
		return nil, fmt.Errorf("%w: CRC %08x, record says %08x", ErrCorrupt, n.CRC, stored)
	}
	return n, nil
}

func (n *Needle) parseBody(body []byte) error {
	f := fields{rest: body}
	n.Data = f.take(int(f.number(4)))
	flags := byte(f.number(1))
	n.Gzip, n.Manifest = flags&flagGzip != 0, flags&flagManifest != 0
	if flags&flagName != 0 {
		n.Name = string(f.take(int(f.number(1))))
	}
	if flags&flagMime != 0 {
		n.Mime = string(f.take(int(f.number(1))))
	}
	if flags&flagLastModified != 0 {
		n.LastModified = time.Unix(int64(f.number(5)), 0).UTC()
	}
	if flags&flagTTL != 0 {
		n.ttl = ttlOf(f.take(2))
	}
	if flags&flagPairs != 0 {
		pairs := f.take(int(f.number(2)))
		if f.bad || json.Unmarshal(pairs, &n.Pairs) != nil {
			return fmt.Errorf("%w: pairs are not JSON", ErrCorrupt)
		}
	}
	if f.bad {
		return fmt.Errorf("%w: a field goes past the body of %d bytes", ErrCorrupt, len(body))
	}
	return nil
}

func ttlOf(raw []byte) time.Duration {
	if len(raw) != 2 {
		return 0
	}
	const day = 24 * time.Hour
	units := [...]time.Duration{0, time.Minute, time.Hour, day, 7 * day, 30 * day, 365 * day}
	if int(raw[1]) >= len(units) {
		return 0
	}
	return time.Duration(raw[0]) * units[raw[1]]
}

// fields takes big-endian fields off the front of a body, and remembers when one did not fit.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) take(count int) []byte {
	if count < 0 || count > len(f.rest) {
		f.bad = true
		f.rest = nil
		return nil
	}
	taken := f.rest[:count]
	f.rest = f.rest[count:]
	return taken
}

func (f *fields) number(width int) uint64 {
	var value uint64
	for _, b := range f.take(width) {
		value = value<<8 | uint64(b)
	}
	return value
}
