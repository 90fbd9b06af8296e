// Package crc has CRC-32C as completions carry it, and the joining of two of them without their bytes.
//
//	whole := crc.Combine(crc.Of(a), crc.Of(b), uint64(len(b)))
package crc

import "hash/crc32"

var table = crc32.MakeTable(crc32.Castagnoli)

const polynomial = 0x82F63B78 // Castagnoli, bit-reversed; bit 31 is x^0

// Of is the CRC-32C of bytes.
func Of(b []byte) uint32 { return crc32.Checksum(b, table) }

// Combine is the CRC of a first part followed by a second one of secondLength bytes.
func Combine(first, second uint32, secondLength uint64) uint32 {
	return multiply(power(secondLength), first) ^ second
}

// Legacy is the form that older SeaweedFS versions stored, made from the plain one.
func Legacy(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// multiply is a × b modulo the polynomial.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1 << 31); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= polynomial
		}
	}
	return product
}

// power is x^(8 × bytes) modulo the polynomial.
func power(bytes uint64) uint32 {
	result, square := uint32(1<<31), uint32(1<<23) // x^0, x^8
	for ; bytes != 0; bytes >>= 1 {
		if bytes&1 != 0 {
			result = multiply(result, square)
		}
		square = multiply(square, square)
	}
	return result
}
