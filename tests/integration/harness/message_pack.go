package harness

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// pack appends what the older client's messages are made of, in MessagePack.
func pack(to []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(to, 0xC0)
	case bool:
		if v {
			return append(to, 0xC3)
		}
		return append(to, 0xC2)
	case int:
		return binary.BigEndian.AppendUint64(append(to, 0xCF), uint64(v))
	case uint32:
		return binary.BigEndian.AppendUint32(append(to, 0xCE), v)
	case uint64:
		return binary.BigEndian.AppendUint64(append(to, 0xCF), v)
	case string:
		return append(binary.BigEndian.AppendUint16(append(to, 0xDA), uint16(len(v))), v...)
	case map[string]any:
		to = append(to, 0x80|byte(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			to = pack(pack(to, key), v[key])
		}
		return to
	default:
		panic(fmt.Sprintf("pack: %T", value))
	}
}

// unpack takes one value of what replies are made of, and answers the rest; it panics at anything else.
func unpack(from []byte) (any, []byte) {
	head, from := from[0], from[1:]
	number := func(bytes int) uint64 {
		var wide [8]byte
		copy(wide[8-bytes:], from[:bytes])
		from = from[bytes:]
		return binary.BigEndian.Uint64(wide[:])
	}
	text := func(length uint64) (any, []byte) { return string(from[:length]), from[length:] }
	list := func(length uint64) (any, []byte) {
		values := []any{}
		for range length {
			var value any
			value, from = unpack(from)
			values = append(values, value)
		}
		return values, from
	}
	switch {
	case head < 0x80:
		return uint64(head), from
	case head>>4 == 0x9:
		return list(uint64(head & 0xF))
	case head>>5 == 0x5:
		return text(uint64(head & 0x1F))
	case head == 0xC0:
		return nil, from
	case head == 0xC2, head == 0xC3:
		return head == 0xC3, from
	case head >= 0xCC && head <= 0xCF:
		value := number(1 << (head - 0xCC))
		return value, from
	case head >= 0xD9 && head <= 0xDB:
		return text(number(1 << (head - 0xD9)))
	case head == 0xDC:
		return list(number(2))
	default:
		panic(fmt.Sprintf("unpack: %#x", head))
	}
}
