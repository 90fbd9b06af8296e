package layout

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// Go and C++ on the same golden bytes: each writes every field by its name and reads every field by its name. The C++ half is
// tests/unit/shm_layout/fields_test.cpp.

// goldenBytes has the bytes of each struct, in the order of structs().
func goldenBytes(t *testing.T) [][]byte {
	t.Helper()
	text, err := os.ReadFile("../../../../shm_layout/golden/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for line := range strings.Lines(string(text)) {
		_, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	if len(all) != len(structs()) {
		t.Fatalf("the golden file has %d structs, Go has %d", len(all), len(structs()))
	}
	return all
}

// number is the one that little-endian bytes make.
func number(b []byte) (n uint64) {
	for k, v := range b {
		n |= uint64(v) << (8 * k)
	}
	return n
}

// each calls visit for every number of a struct, arrays number by number, with its offset as the compiler has it.
func each(s any, visit func(name string, offset uintptr, field reflect.Value)) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type.Kind() != reflect.Array {
			visit(f.Name, f.Offset, v.Field(i))
			continue
		}
		for j := range f.Type.Len() {
			visit(fmt.Sprintf("%s[%d]", f.Name, j), f.Offset+uintptr(j)*f.Type.Elem().Size(), v.Field(i).Index(j))
		}
	}
}

func raw(s any) []byte {
	v := reflect.ValueOf(s)
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Elem().Type().Size())
}

// write sets every field of a struct to what it is in the golden bytes.
func write(s any, want []byte) {
	each(s, func(_ string, offset uintptr, field reflect.Value) {
		field.SetUint(number(want[offset : offset+field.Type().Size()]))
	})
}

// read says which field is another in the bytes than it should be; nil: none.
func read(s any, have, want []byte) (wrong error) {
	copy(raw(s), have)
	each(s, func(name string, offset uintptr, v reflect.Value) {
		if n := number(want[offset : offset+v.Type().Size()]); v.Uint() != n && wrong == nil {
			wrong = fmt.Errorf("%T.%s is %#x, want %#x", s, name, v.Uint(), n)
		}
	})
	return wrong
}

func TestEveryFieldWrittenByItsNameMakesTheGoldenBytes(t *testing.T) {
	golden := goldenBytes(t)
	for i, s := range structs() {
		write(s, golden[i])
		if !bytes.Equal(raw(s), golden[i]) {
			t.Errorf("%T: % x, want % x", s, raw(s), golden[i])
		}
	}
}

func TestEveryFieldReadByItsNameHasTheGoldenNumber(t *testing.T) {
	golden := goldenBytes(t)
	for i, s := range structs() {
		if err := read(s, golden[i], golden[i]); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoFieldsThatChangedPlacesAreFound(t *testing.T) {
	want := goldenBytes(t)[0]
	have := bytes.Clone(want)
	copy(have[OffSegmentHeaderABIMajor:], want[OffSegmentHeaderABIMinor:OffSegmentHeaderABIMinor+2])
	if read(new(SegmentHeader), have, want) == nil {
		t.Fatal("not found")
	}
}
