package enginepath

import "testing"

func TestASumFitsBothFormsThatVolumesStore(t *testing.T) {
	var sum Sum
	sum.Add([]byte("1234"))
	sum.Add([]byte("56789"))
	const plain = 0xe3069283 // the check value of CRC-32C
	for etag, want := range map[string]bool{hex8(plain): true, hex8(older(plain)): true, "": false, hex8(plain + 1): false} {
		if sum.Fits(etag) != want {
			t.Errorf("%q: fits is %v", etag, !want)
		}
	}
	if older(plain) != 0xc78ab0e5 {
		t.Errorf("the older form is %08x", older(plain))
	}
}
