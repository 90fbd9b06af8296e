package ring

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

// aligned is memory that starts at a multiple of 8.
func aligned(bytes int) []byte {
	words := make([]uint64, bytes/wordSize+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), bytes)
}

func requestRing(t *testing.T, slots uint32, start uint64) (*RequestWriter, *RequestReader, []byte) {
	t.Helper()
	memory := aligned(int(slots) * 64)
	w, err := NewRequestWriter(memory, slots, start)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRequestReader(memory, slots, start)
	if err != nil {
		t.Fatal(err)
	}
	return w, r, memory
}

func TestAFreshRingIsEmpty(t *testing.T) {
	_, r, _ := requestRing(t, 4, 0)
	if r.Ready() || r.Read(&Request{}) {
		t.Fatal("a slot seems written")
	}
}

func TestASlotComesOutAsItWentIn(t *testing.T) {
	w, r, _ := requestRing(t, 4, 0)
	in := Request{0xABCDEF0100000000, 2, 3, 4, 5, 6, 7, 8}
	w.Write(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7])
	var out Request
	if !r.Read(&out) {
		t.Fatal("nothing there")
	}
	in[0] |= 1 // the lap
	if out != in {
		t.Fatalf("got %x, want %x", out, in)
	}
}

func TestPositionsAreRightAtEveryWrap(t *testing.T) {
	for _, edge := range []uint64{1 << 31, 1 << 32, 1 << 33, 1 << 38, 1 << 44, math.MaxUint64} {
		for _, slots := range []uint32{2, 64, 4096} {
			start := (edge - 3*uint64(slots)) &^ (uint64(slots) - 1)
			w, r, _ := requestRing(t, slots, start)
			// What lay there a lap ago, as it would after so many writes.
			for i := range 8 * uint64(slots) {
				w.Write(0, i, 0, 0, 0, 0, 0, 0)
				var out Request
				if !r.Read(&out) || out[1] != i {
					t.Fatalf("slots %d, start %#x: write %d did not come out", slots, start, i)
				}
				if r.Ready() {
					t.Fatalf("slots %d, start %#x: more than %d came out", slots, start, i)
				}
			}
			if w.Position() != start+8*uint64(slots) {
				t.Fatalf("position is %#x", w.Position())
			}
		}
	}
}

func TestAFullRingComesOutInOrder(t *testing.T) {
	for _, start := range []uint64{0, 0x7FFFFFF0, 0xFFFFFFF0, 0xFFFFFFFFFFFFFFF0} {
		w, r, _ := requestRing(t, 16, start)
		for lap := range uint64(5) {
			for i := range uint64(16) {
				w.Write(0, lap*16+i, 0, 0, 0, 0, 0, 0)
			}
			for i := range uint64(16) {
				var out Request
				if !r.Read(&out) || out[1] != lap*16+i {
					t.Fatalf("start %#x: slot %d of lap %d is wrong", start, i, lap)
				}
			}
		}
	}
}

func TestALapThatIsNotExpectedIsNothing(t *testing.T) {
	_, r, memory := requestRing(t, 4, 0)
	for _, lap := range []uint32{0, 2, 3, math.MaxUint32} {
		*(*uint32)(unsafe.Pointer(&memory[0])) = lap
		if r.Ready() || r.Read(&Request{}) {
			t.Fatalf("lap %d was taken for 1", lap)
		}
	}
}

func TestBadMemoryIsRefused(t *testing.T) {
	memory := aligned(4 * 64)
	for name, fail := range map[string]func() error{
		"short":            func() error { _, err := NewRequestWriter(memory[:255], 4, 0); return err },
		"empty":            func() error { _, err := NewRequestWriter(nil, 4, 0); return err },
		"no slots":         func() error { _, err := NewRequestReader(memory, 0, 0); return err },
		"no power of two":  func() error { _, err := NewCompletionReader(memory, 3, 0); return err },
		"more than fits":   func() error { _, err := NewCompletionWriter(memory, 1<<31, 0); return err },
		"misaligned by 1":  func() error { _, err := NewCompletionReader(memory[1:], 1, 0); return err },
		"misaligned by 4":  func() error { _, err := NewCompletionReader(memory[4:], 1, 0); return err },
		"misaligned by 15": func() error { _, err := NewCompletionReader(memory[15:], 1, 0); return err },
	} {
		if fail() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestNoSlotIsTorn(t *testing.T) {
	const slots, rounds = 64, 200000
	memory := aligned(slots * 32)
	w, err := NewCompletionWriter(memory, slots, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewCompletionReader(memory, slots, 0)
	if err != nil {
		t.Fatal(err)
	}
	credits := make(chan struct{}, slots)
	var group sync.WaitGroup
	group.Go(func() {
		for i := range uint64(rounds) {
			credits <- struct{}{}
			w.Write(Completion{0, i, i, i})
		}
	})
	for i := range uint64(rounds) {
		c, ok := r.Read()
		for ; !ok; c, ok = r.Read() {
			runtime.Gosched()
		}
		if c.Tag != i || c.Sizes != i || c.Value != i {
			t.Fatalf("completion %d is %v", i, c)
		}
		<-credits
	}
	group.Wait()
}
