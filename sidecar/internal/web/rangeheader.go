package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// byteRange is a Range header of one part.
type byteRange struct {
	first, last uint64
	open        bool // no last
	suffix      bool // the last `last` bytes
}

// parseRange reads a Range header. ok is false where it is to be ignored: there is none, its unit is not bytes, or it
// names several parts (the whole is a right answer to that). One that makes no sense fails.
func parseRange(header string) (part byteRange, ok bool, err error) {
	unit, list, found := strings.Cut(header, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(unit), "bytes") || strings.Contains(list, ",") {
		return part, false, nil
	}
	bad := func() (byteRange, bool, error) {
		return part, false, badRange(fmt.Sprintf("Range %q is not bytes=FIRST-LAST, bytes=FIRST- or bytes=-COUNT", clipped(header)))
	}
	first, last, found := strings.Cut(strings.TrimSpace(list), "-")
	if !found || first == "" && last == "" || strings.HasPrefix(last, "+") || strings.HasPrefix(first, "+") {
		return bad()
	}
	if first == "" {
		part.suffix = true
	} else if part.first, err = strconv.ParseUint(first, 10, 64); err != nil {
		return bad()
	}
	if last == "" {
		part.open = true
	} else if part.last, err = strconv.ParseUint(last, 10, 64); err != nil {
		return bad()
	}
	if !part.suffix && !part.open && part.last < part.first {
		return bad()
	}
	return part, true, nil
}

func badRange(text string) *object.Failure {
	return &object.Failure{Code: http.StatusRequestedRangeNotSatisfiable, Certain: true, Text: text}
}

// within fits the range to a representation of the given size.
func (b byteRange) within(size uint64) (first, length uint64, err error) {
	switch {
	case b.suffix:
		length = min(b.last, size)
		first = size - length
	case b.first < size:
		first, length = b.first, size-b.first
		if !b.open {
			length = min(length, b.last-b.first+1)
		}
	}
	if length == 0 {
		failure := badRange(fmt.Sprintf("the Range lies behind the end of %d bytes", size))
		failure.Size = size
		return 0, 0, failure
	}
	return first, length, nil
}
