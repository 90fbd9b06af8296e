package rde

import (
	"errors"
	"testing"
)

func TestFileIDsAreReadAsSeaweedFSWritesThem(t *testing.T) {
	for text, want := range map[string]FileID{
		"3,01637037d6":                        {3, 1, 0x637037d6},
		"3,1637037d6":                         {3, 1, 0x637037d6},
		"1,0ab25d1451cd22":                    {1, 0x0ab25d, 0x1451cd22},
		"4294967295,ffffffffffffffffffffffff": {1<<32 - 1, 1<<64 - 1, 1<<32 - 1},
		"0,FFFFFFFFFFFFFFF000000000":          {0, 1<<64 - 16, 0},
		"3,01637037d6_2":                      {3, 3, 0x637037d6},
		"3,ffffffffffffffe0637037d6_31":       {3, 1<<64 - 1, 0x637037d6},
	} {
		got, err := ParseFileID(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, error %v", text, got, err)
		}
	}
}

func TestWhatIsNoFileIDIsRefused(t *testing.T) {
	for _, text := range []string{
		"", ",", "3", "3,", ",01637037d6", "3,637037d6", "3,fffffffffffffffffffffffff", "x,01637037d6", "4294967296,01637037d6",
		"-1,01637037d6", "+1,01637037d6", "3,+1637037d6", "3,0163 037d6", "3,01637037d6_", "3,01637037d6_x", "3,01637037d6_-1",
		"3,ffffffffffffffff637037d6_1", "3,01637037d6,1", "1_0,01637037d6", " 3,01637037d6", "3,0x1637037d6", "3,_1637037d6",
	} {
		if got, err := ParseFileID(text); !errors.Is(err, StatusInvalidFileID) {
			t.Errorf("%q: %+v, error %v", text, got, err)
		}
	}
}

func TestAFileIDIsWrittenWithoutLeadingZeroBytes(t *testing.T) {
	for want, id := range map[string]FileID{
		"3,01637037d6":               {3, 1, 0x637037d6},
		"1,0ab25d1451cd22":           {1, 0x0ab25d, 0x1451cd22},
		"7,0000000000":               {7, 0, 0},
		"0,ffffffffffffffff00000001": {0, 1<<64 - 1, 1},
	} {
		if got := id.String(); got != want {
			t.Errorf("%+v: %q, want %q", id, got, want)
		}
	}
}

func FuzzFileID(f *testing.F) {
	f.Add("3,01637037d6")
	f.Add("3,01637037d6_2")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseFileID(text)
		if err != nil {
			return
		}
		if again, err := ParseFileID(id.String()); err != nil || again != id {
			t.Fatalf("%q is %+v, written %q, read %+v: %v", text, id, id, again, err)
		}
	})
}
