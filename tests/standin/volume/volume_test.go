package volume

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFileIDsOfAllForms(t *testing.T) {
	for text, want := range map[string]string{
		"01637037d6": "3,01637037d6", "1637037d6": "3,01637037d6", "01637037D6": "3,01637037d6",
		"01637037d6_2": "3,03637037d6", "fffffffffffffff000000001": "3,fffffffffffffff000000001",
	} {
		id, err := ParseFileID("3", text)
		if err != nil || id.String() != want {
			t.Errorf("%s: got %v %v, want %s", text, id, err, want)
		}
	}
}

func TestWhatIsNotAFileIDIsRefused(t *testing.T) {
	for _, text := range []string{"", "01", "637037d6", "zz01637037d6", "1ffffffffffffffffffffffff", "01637037d6_x", "+1637037d6"} {
		if id, err := ParseFileID("3", text); err == nil {
			t.Errorf("%q was taken for %v", text, id)
		}
	}
	for _, volume := range []string{"", "x", "-1", "4294967296"} {
		if id, err := ParseFileID(volume, "01637037d6"); err == nil {
			t.Errorf("volume %q was taken for %v", volume, id)
		}
	}
}

func FuzzARecordOfAnyBytesIsReadOrRefused(f *testing.F) {
	f.Add([]byte{}, uint32(0))
	f.Add(make([]byte, 64), uint32(32))
	f.Fuzz(func(_ *testing.T, record []byte, size uint32) {
		_, _ = parseNeedle(record, size, 3)
	})
}

func TestAnIndexEntryPastTheEndOfTheFileIsCorrupt(t *testing.T) {
	dir := t.TempDir()
	idx := []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 9}
	for name, data := range map[string][]byte{"3.dat": {3, 0, 0, 0, 0, 0, 0, 0}, "3.idx": idx} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir).Read(FileID{Volume: 3, Key: 1}); err == nil {
		t.Error("it was read")
	}
}
