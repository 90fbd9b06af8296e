package rde

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FileID names an object of SeaweedFS.
type FileID struct {
	Volume uint32
	Needle uint64
	Cookie uint32
}

const cookieDigits = 8

// ParseFileID reads "VOLUME,KEYCOOKIE" with an optional "_N" that is added to the key: "3,01637037d6" is volume 3, key 1,
// cookie 0x637037d6. Errors: invalid_file_id.
func ParseFileID(s string) (FileID, error) {
	bad := func(why string) (FileID, error) {
		if len(s) > 64 {
			s = s[:64] + "…"
		}
		return FileID{}, &Error{Op: "parse file id", Status: StatusInvalidFileID, Field: "file id",
			Text: fmt.Sprintf("%q: %s; want VOLUME,KEYCOOKIE such as 3,01637037d6", s, why)}
	}
	volume, rest, ok := strings.Cut(s, ",")
	if !ok {
		return bad("no comma")
	}
	vid, err := parseUnsigned(volume, 10, 32)
	if err != nil {
		return bad("the volume is no decimal number below 2^32")
	}
	var delta uint64
	if keyCookie, suffix, ok := strings.Cut(rest, "_"); ok {
		rest = keyCookie
		if delta, err = parseUnsigned(suffix, 10, 64); err != nil {
			return bad("the suffix is no decimal number")
		}
	}
	if len(rest) <= cookieDigits || len(rest) > 2*8+cookieDigits {
		return bad("key and cookie have 9 to 24 hex digits")
	}
	split := len(rest) - cookieDigits
	key, err := parseUnsigned(rest[:split], 16, 64)
	if err != nil {
		return bad("the key is not hex")
	}
	cookie, err := parseUnsigned(rest[split:], 16, 32)
	if err != nil {
		return bad("the cookie is not hex")
	}
	if key > math.MaxUint64-delta {
		return bad("key plus suffix is over 2^64")
	}
	return FileID{Volume: uint32(vid), Needle: key + delta, Cookie: uint32(cookie)}, nil
}

// parseUnsigned is strconv.ParseUint without its sign and underscore forms.
func parseUnsigned(s string, base, bits int) (uint64, error) {
	if s == "" || s[0] == '+' || s[0] == '-' {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(s, base, bits)
}

// String is the form that ParseFileID reads, with the key's leading zero bytes stripped, as SeaweedFS writes it.
func (f FileID) String() string {
	var raw [12]byte
	binary.BigEndian.PutUint64(raw[:], f.Needle)
	binary.BigEndian.PutUint32(raw[8:], f.Cookie)
	first := 0
	for first < 7 && raw[first] == 0 {
		first++
	}
	return strconv.FormatUint(uint64(f.Volume), 10) + "," + hex.EncodeToString(raw[first:])
}
