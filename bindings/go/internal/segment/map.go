package segment

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

// Map maps a descriptor that came from an engine, for reading and writing. The memory is not inherited by forked children.
// It must be sealed against shrinking, or whoever holds it could make each access fault. Give the memory back with Unmap.
func Map(fd int, size uint64) ([]byte, error) {
	if size < layout.MinSegment || size > maxSize {
		return nil, fmt.Errorf("%w: total_size = %d: want 2 MiB to 8 TiB", ErrInvalid, size)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("fstat of the segment: %w", err)
	}
	if stat.Size < 0 || uint64(stat.Size) != size {
		return nil, fmt.Errorf("%w: total_size = %d: the descriptor has %d bytes", ErrInvalid, size, stat.Size)
	}
	const wanted = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&wanted != wanted {
		return nil, fmt.Errorf("%w: segment descriptor: seals = %#x (%v): want a memfd sealed against shrinking and growing", ErrInvalid, seals, err)
	}
	memory, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes of the segment: %w", size, err)
	}
	if err := unix.Madvise(memory, unix.MADV_DONTFORK); err != nil {
		_ = unix.Munmap(memory)
		return nil, fmt.Errorf("madvise(MADV_DONTFORK) of the segment: %w", err)
	}
	return memory, nil
}

// Unmap gives the memory of Map back. No pointer into it may be used any more.
func Unmap(memory []byte) error { return unix.Munmap(memory) }
