package layout

import (
	"fmt"
	"os"
	"reflect"
	"testing"
	"unsafe"
)

// The cross test: one language writes every field of every struct through its own field names, the other reads them through its
// own. Byte k of a field at offset o of its struct is pattern(o + k). The file has the structs one after the other, each with
// its own size and nothing between, in the order of shm_layout/golden/layout.txt.
//
//	RDE_CROSS_WRITE=/tmp/go.bin go test -run Cross ./internal/layout     # Go writes
//	RDE_CROSS_READ=/tmp/cpp.bin go test -run Cross ./internal/layout     # Go reads
func pattern(offset uintptr) byte { return byte(offset*7 + 13) }

// structs are new ones, in the order of the golden file.
func structs() []any {
	return []any{
		new(SegmentHeader), new(EnginePage), new(ClientPage), new(Doorbell), new(ChannelLines), new(Request), new(ObjectArgs),
		new(CancelArgs), new(PingArgs), new(Completion), new(ObjectStat), new(Capabilities), new(Counter), new(RecorderHead),
		new(RecorderEvent), new(AttachHello), new(AttachWelcome), new(AttachSignal), new(AttachRefused), new(AttachClient),
	}
}

// number is what a field at an offset holds: its pattern bytes, the lowest first.
func number(offset, size uintptr) (n uint64) {
	for k := range size {
		n |= uint64(pattern(offset+k)) << (8 * k)
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

func fill() []byte {
	var all []byte
	for _, s := range structs() {
		each(s, func(_ string, offset uintptr, field reflect.Value) {
			field.SetUint(number(offset, field.Type().Size()))
		})
		all = append(all, raw(s)...)
	}
	return all
}

// verify says which field is not what it should be.
func verify(all []byte) error {
	for _, s := range structs() {
		name, to := reflect.TypeOf(s).Elem().Name(), raw(s)
		if len(all) < len(to) {
			return fmt.Errorf("the file ends within %s", name)
		}
		copy(to, all)
		all = all[len(to):]
		var wrong error
		each(s, func(field string, offset uintptr, v reflect.Value) {
			if want := number(offset, v.Type().Size()); v.Uint() != want && wrong == nil {
				wrong = fmt.Errorf("%s.%s is %#x, want %#x", name, field, v.Uint(), want)
			}
		})
		if wrong != nil {
			return wrong
		}
	}
	if len(all) != 0 {
		return fmt.Errorf("the file has %d bytes too many", len(all))
	}
	return nil
}

func TestCrossEveryByteOfEveryStructHasAField(t *testing.T) {
	all := fill()
	for _, s := range structs() {
		size := reflect.TypeOf(s).Elem().Size()
		for offset := range size {
			if all[offset] != pattern(offset) {
				t.Fatalf("byte %d of %T belongs to no field", offset, s)
			}
		}
		all = all[size:]
	}
	if err := verify(fill()); err != nil {
		t.Fatal(err)
	}
}

func TestCrossASwappedFieldIsFound(t *testing.T) {
	all := fill()
	copy(all[OffSegmentHeaderABIMajor:], []byte{all[OffSegmentHeaderABIMinor], all[OffSegmentHeaderABIMinor+1]})
	if verify(all) == nil {
		t.Fatal("not found")
	}
}

func TestCrossWrite(t *testing.T) {
	path := os.Getenv("RDE_CROSS_WRITE")
	if path == "" {
		t.Skip("RDE_CROSS_WRITE names no file")
	}
	if err := os.WriteFile(path, fill(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCrossRead(t *testing.T) {
	path := os.Getenv("RDE_CROSS_READ")
	if path == "" {
		t.Skip("RDE_CROSS_READ names no file")
	}
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(all); err != nil {
		t.Fatal(err)
	}
}
