// Package volumetest writes small volumes for tests.
//
//	build := volumetest.New(3)
//	id := build.Add(1, volumetest.Object{Data: []byte("hello")})
//	err := build.Save(dir)
package volumetest

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

// Object is what one record shall hold. Empty fields are left out of it.
type Object struct {
	Data         []byte
	Name, Mime   string
	Gzip         bool // Data is packed
	Manifest     bool
	LastModified int64 // Unix seconds
	BreakCRC     bool
}

// Builder collects records. It is not for use by several goroutines.
type Builder struct {
	id       uint32
	dat, idx []byte
}

// New starts a volume of format version 3.
func New(id uint32) *Builder {
	return &Builder{id: id, dat: []byte{3, 0, 0, 0, 0, 0, 0, 0}}
}

// Add appends an object, with a cookie made from its key. An object added again under its key replaces the first.
func (b *Builder) Add(key uint64, object Object) volume.FileID {
	id := volume.FileID{Volume: b.id, Key: key, Cookie: uint32(key*2654435761) | 1}
	b.AddID(id, object)
	return id
}

// AddID appends an object under a key and cookie of the caller's choice.
func (b *Builder) AddID(id volume.FileID, object Object) {
	body := object.body()
	offset := len(b.dat)
	b.dat = binary.BigEndian.AppendUint32(b.dat, id.Cookie)
	b.dat = binary.BigEndian.AppendUint64(b.dat, id.Key)
	b.dat = binary.BigEndian.AppendUint32(b.dat, uint32(len(body)))
	b.dat = append(b.dat, body...)
	crc := crc32.Checksum(object.Data, crc32.MakeTable(crc32.Castagnoli))
	if object.BreakCRC {
		crc++
	}
	b.dat = binary.BigEndian.AppendUint32(b.dat, crc)
	b.dat = binary.BigEndian.AppendUint64(b.dat, 1) // append_at_ns
	b.dat = append(b.dat, make([]byte, 8-len(b.dat)%8)...)
	b.entry(id.Key, uint32(offset/8), int32(len(body)))
}

// Delete marks a key as deleted.
func (b *Builder) Delete(key uint64) { b.entry(key, 0, -1) }

func (b *Builder) entry(key uint64, units uint32, size int32) {
	b.idx = binary.BigEndian.AppendUint64(b.idx, key)
	b.idx = binary.BigEndian.AppendUint32(b.idx, units)
	b.idx = binary.BigEndian.AppendUint32(b.idx, uint32(size))
}

// Save writes N.dat and N.idx into the folder.
func (b *Builder) Save(dir string) error {
	base := filepath.Join(dir, strconv.FormatUint(uint64(b.id), 10))
	if err := os.WriteFile(base+".dat", b.dat, 0o600); err != nil {
		return err
	}
	return os.WriteFile(base+".idx", b.idx, 0o600)
}

func (o *Object) body() []byte {
	if len(o.Data) == 0 {
		return nil
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(len(o.Data)))
	body = append(body, o.Data...)
	var flags byte = 0x08
	if o.Gzip {
		flags |= 0x01
	}
	if o.Name != "" {
		flags |= 0x02
	}
	if o.Mime != "" {
		flags |= 0x04
	}
	if o.Manifest {
		flags |= 0x80
	}
	body = append(body, flags)
	if o.Name != "" {
		body = append(append(body, byte(len(o.Name))), o.Name...)
	}
	if o.Mime != "" {
		body = append(append(body, byte(len(o.Mime))), o.Mime...)
	}
	return append(body, binary.BigEndian.AppendUint64(nil, uint64(o.LastModified))[3:]...)
}
