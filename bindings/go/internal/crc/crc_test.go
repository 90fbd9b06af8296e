package crc

import (
	"math/rand/v2"
	"testing"
)

func TestTheCheckValueIsRight(t *testing.T) {
	if got := Of([]byte("123456789")); got != 0xE3069283 {
		t.Fatalf("got %#x", got)
	}
}

func TestCombineIsTheSumOfTheWhole(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 70000)
	for i := range b {
		b[i] = byte(source.Uint32())
	}
	for _, cut := range []int{0, 1, 7, 8, 4096, 65536, len(b) - 1, len(b)} {
		if got := Combine(Of(b[:cut]), Of(b[cut:]), uint64(len(b)-cut)); got != Of(b) {
			t.Errorf("cut at %d: %#x, want %#x", cut, got, Of(b))
		}
	}
}

func TestCombineTakesLongParts(t *testing.T) {
	zeros := make([]byte, 1<<20)
	want := Of([]byte("x"))
	for range 16 {
		want = Combine(want, Of(zeros), uint64(len(zeros)))
	}
	part := Of(zeros)
	for length := uint64(1 << 20); length < 16<<20; length *= 2 {
		part = Combine(part, part, length)
	}
	if got := Combine(Of([]byte("x")), part, 16<<20); got != want {
		t.Fatalf("%#x, want %#x", got, want)
	}
}
