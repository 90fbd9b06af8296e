//go:build !linux || !(amd64 || arm64 || loong64 || mips64le || ppc64le || riscv64)

package rde

// The segment holds 64-bit atomics and little-endian numbers, and Linux passes it.
const _ = this_package_needs_linux_on_a_64_bit_little_endian_machine
