// Package volume reads SeaweedFS volume files. It is a second, independent reader of the format, made for
// tests and demos: it holds each index in memory and each object whole.
//
//	store := volume.Open("/data")
//	needle, err := store.Read(volume.FileID{Volume: 3, Key: 1, Cookie: 0x637037d6})
package volume

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

var (
	// ErrNoVolume says that no folder of the store has the volume.
	ErrNoVolume = errors.New("volume not found")
	// ErrNotFound says that the volume has no such object: never written, deleted, expired, or another cookie.
	ErrNotFound = errors.New("object not found")
)

// Store is the volumes of some folders. Its methods may be called from many goroutines.
type Store struct {
	dirs  []string
	mutex sync.Mutex
	open  map[string]*index // by path of the .idx file
}

// Open gives the store of the named folders. They are looked at anew for every read.
func Open(dirs ...string) *Store {
	return &Store{dirs: dirs, open: map[string]*index{}}
}

var datName = regexp.MustCompile(`^(?:.*_)?([0-9]+)\.dat$`)

// Volumes lists the volumes that the folders hold, in ascending order.
func (s *Store) Volumes() []uint32 {
	var ids []uint32
	for _, dir := range s.dirs {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if match := datName.FindStringSubmatch(entry.Name()); match != nil {
				if id, err := strconv.ParseUint(match[1], 10, 32); err == nil {
					ids = append(ids, uint32(id))
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (s *Store) find(id uint32) (base string, err error) {
	for _, dir := range s.dirs {
		paths, err := filepath.Glob(filepath.Join(dir, "*.dat"))
		if err != nil {
			return "", err
		}
		for _, path := range paths {
			match := datName.FindStringSubmatch(filepath.Base(path))
			if match != nil && match[1] == strconv.FormatUint(uint64(id), 10) {
				return path[:len(path)-len(".dat")], nil
			}
		}
	}
	return "", ErrNoVolume
}

// Read gives an object, checked against its CRC; the caller must not change it. An empty object answers to any cookie, as the real server does.
func (s *Store) Read(id FileID) (*Needle, error) {
	base, err := s.find(id.Volume)
	if err != nil {
		return nil, err
	}
	idx, err := s.index(base)
	if err != nil {
		return nil, err
	}
	at, ok := idx.entries[id.Key]
	if !ok {
		return nil, ErrNotFound
	}
	needle, err := idx.read(base+".dat", at)
	if err != nil {
		return nil, err
	}
	if needle.Key != id.Key {
		return nil, fmt.Errorf("%w: record has key %x, index says %x", ErrCorrupt, needle.Key, id.Key)
	}
	if needle.Expired(time.Now()) || (at.size > 0 && needle.Cookie != id.Cookie) {
		return nil, ErrNotFound
	}
	return needle, nil
}

type location struct {
	offset int64
	size   uint32
}

type index struct {
	version byte
	info    fs.FileInfo
	entries map[uint64]location

	mutex  sync.Mutex
	last   location
	needle *Needle // at last; parts of one object are often read in a row
}

// read gives the record of an entry.
func (x *index) read(path string, at location) (*Needle, error) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.needle != nil && x.last == at {
		return x.needle, nil
	}
	needle, err := x.readRecord(path, at)
	if err == nil {
		x.last, x.needle = at, needle
	}
	return needle, err
}

// index loads the .idx file, or takes the one loaded before when the file has not changed.
func (s *Store) index(base string) (*index, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	path := base + ".idx"
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if old := s.open[path]; old != nil && os.SameFile(old.info, info) &&
		old.info.Size() == info.Size() && old.info.ModTime().Equal(info.ModTime()) {
		return old, nil
	}
	fresh, err := loadIndex(base, info)
	if err != nil {
		return nil, err
	}
	s.open[path] = fresh
	return fresh, nil
}

func loadIndex(base string, info fs.FileInfo) (*index, error) {
	raw, err := os.ReadFile(base + ".idx")
	if err != nil {
		return nil, err
	}
	dat, err := os.Open(base + ".dat")
	if err != nil {
		return nil, err
	}
	defer dat.Close()
	super := make([]byte, 8)
	if _, err := dat.ReadAt(super, 0); err != nil {
		return nil, fmt.Errorf("superblock of %s.dat: %w", base, err)
	}
	idx := &index{version: super[0], info: info, entries: map[uint64]location{}}
	if idx.version < 2 || idx.version > 3 {
		return nil, fmt.Errorf("%s.dat: format version %d, known are 2 and 3", base, idx.version)
	}
	width := 12 + offsetBytes(base)
	for ; len(raw) >= width; raw = raw[width:] {
		key := binary.BigEndian.Uint64(raw)
		units := uint64(binary.BigEndian.Uint32(raw[8:]))
		if width == 17 {
			units |= uint64(raw[12]) << 32
		}
		size := int32(binary.BigEndian.Uint32(raw[width-4:]))
		if units == 0 || size < 0 {
			delete(idx.entries, key)
			continue
		}
		idx.entries[key] = location{offset: int64(units * 8), size: uint32(size)}
	}
	return idx, nil
}

func offsetBytes(base string) int {
	var vif struct {
		BytesOffset int `json:"bytesOffset"`
	}
	if raw, err := os.ReadFile(base + ".vif"); err == nil && json.Unmarshal(raw, &vif) == nil && vif.BytesOffset == 5 {
		return 5
	}
	return 4
}

func (x *index) readRecord(path string, at location) (*Needle, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	length := headerSize + int(at.size) + 4
	if x.version >= 3 {
		length += 8
	}
	if info, err := file.Stat(); err != nil || at.offset+int64(length) > info.Size() {
		return nil, fmt.Errorf("%w: index entry at %d goes past the end of %s", ErrCorrupt, at.offset, path)
	}
	record := make([]byte, length)
	if _, err := file.ReadAt(record, at.offset); err != nil {
		return nil, err
	}
	return parseNeedle(record, at.size, x.version)
}
