package volume

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FileID names one object: "3,01637037d6" is volume 3, key 0x01, cookie 0x637037d6.
type FileID struct {
	Volume uint32
	Key    uint64
	Cookie uint32
}

// String gives the canonical form: leading zero bytes of the key are left out.
func (f FileID) String() string {
	digits := fmt.Sprintf("%x", f.Key)
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	return fmt.Sprintf("%d,%s%08x", f.Volume, digits, f.Cookie)
}

// ErrFileID says that a text is not a file id.
var ErrFileID = errors.New("not a file id")

// ParseFileID reads a volume number and KEYCOOKIE, which may carry a suffix "_N" that adds N to the key.
func ParseFileID(volumeText, keyCookie string) (FileID, error) {
	volume, err := strconv.ParseUint(volumeText, 10, 32)
	if err != nil {
		return FileID{}, fmt.Errorf("%w: volume %q is not a number below 2^32", ErrFileID, volumeText)
	}
	keyCookie, suffix, hasSuffix := strings.Cut(keyCookie, "_")
	var delta uint64
	if hasSuffix {
		if delta, err = strconv.ParseUint(suffix, 10, 64); err != nil {
			return FileID{}, fmt.Errorf("%w: suffix %q is not a number", ErrFileID, suffix)
		}
	}
	if len(keyCookie) <= 8 || len(keyCookie) > 24 {
		return FileID{}, fmt.Errorf("%w: %q has %d hex digits, not 9 to 24", ErrFileID, keyCookie, len(keyCookie))
	}
	split := len(keyCookie) - 8
	key, err := strconv.ParseUint(keyCookie[:split], 16, 64)
	if err != nil {
		return FileID{}, fmt.Errorf("%w: key %q is not hex", ErrFileID, keyCookie[:split])
	}
	cookie, err := strconv.ParseUint(keyCookie[split:], 16, 32)
	if err != nil {
		return FileID{}, fmt.Errorf("%w: cookie %q is not hex", ErrFileID, keyCookie[split:])
	}
	return FileID{Volume: uint32(volume), Key: key + delta, Cookie: uint32(cookie)}, nil
}
