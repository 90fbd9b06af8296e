package enginepath

import (
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

func TestDistrustEndsAndIsBounded(t *testing.T) {
	d, now := newDistrusted(), time.Now()
	id := func(i int) rde.FileID { return rde.FileID{Volume: 1, Needle: uint64(i), Cookie: 1} }
	for i := range mostDistrusted + 10 {
		d.learn(id(i), now.Add(time.Duration(i)*time.Microsecond))
	}
	if len(d.until) != mostDistrusted {
		t.Errorf("%d objects are remembered", len(d.until))
	}
	if d.has(id(0), now) || d.has(id(9), now) || !d.has(id(10), now) || !d.has(id(mostDistrusted+9), now) {
		t.Error("it were not the oldest that made room")
	}
	if d.has(id(20), now.Add(distrustFor+time.Second)) {
		t.Error("distrust did not end")
	}
}
