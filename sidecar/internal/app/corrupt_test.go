package app

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
)

// flipAt spoils the byte at an offset of an object.
func flipAt(at uint64) func(uint64, []byte) {
	return func(offset uint64, part []byte) {
		if at >= offset && at-offset < uint64(len(part)) {
			part[at-offset] ^= 1
		}
	}
}

// wantNoWrongBytes fails where an answer looks whole and is not right.
func (r *rig) wantNoWrongBytes(got answer, data []byte) (cut bool) {
	r.Helper()
	if got.err == nil && (got.code >= 300 || !bytes.Equal(got.body, data)) {
		r.Errorf("got %d by %s, %d bytes that look whole and are wrong", got.code, got.source(), len(got.body))
	}
	return got.err != nil
}

func TestABadStartIsNotJoinedToAGoodRest(t *testing.T) {
	dir := testVolume(t)
	for _, status := range []rde.Status{rde.StatusObjectCorrupt, rde.StatusVolumeCorrupt, rde.StatusPeerDown, rde.StatusIoError,
		rde.StatusVolumeChanging, rde.StatusEngineGone, rde.StatusOk} {
		fake := enginetest.New(dir)
		fake.OnBytes = flipAt(7)
		fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
			if offset > 1<<20 && status != rde.StatusOk {
				return status
			}
			return nil
		}
		r := both(t, fake, dir)
		if !r.wantNoWrongBytes(r.get("/read?file_id="+largeID), largeData) {
			t.Errorf("%v: the answer that began with wrong bytes was not cut off", status)
		}
		fake.CheckLent(t)
	}
}

func TestNothingGoesOnAfterTheEngineFoundAnObjectCorrupt(t *testing.T) {
	dir := testVolume(t)
	for _, part := range []string{"", "&offset=0&size=3000000"} {
		fake := enginetest.New(dir)
		fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
			if offset > 1<<20 {
				return rde.StatusObjectCorrupt
			}
			return nil
		}
		if got := both(t, fake, dir).get("/read?file_id=" + largeID + part); got.err == nil {
			t.Errorf("%q: got %d with %d bytes", part, got.code, len(got.body))
		}
		fake.CheckLent(t)
	}
}

func TestAPartWaitsUntilTheWholeObjectIsChecked(t *testing.T) {
	dir := testVolume(t)
	for name, corrupt := range map[string]bool{"right": false, "corrupt": true} {
		t.Run(name, func(t *testing.T) {
			fake := enginetest.New(dir)
			var reads atomic.Int64
			fake.Unverified = func(uint64, int) bool { return reads.Load() < 6 }
			fake.OnRead = func(context.Context, int, uint64) error {
				if reads.Add(1) >= 6 && corrupt {
					return rde.StatusObjectCorrupt
				}
				return nil
			}
			source := "rdma"
			if corrupt {
				fake.OnBytes, source = flipAt(1), "http"
			}
			r := both(t, fake, dir)
			r.want(r.get("/read?file_id="+largeID+"&size=100000"), http.StatusOK, source, largeData[:100000])
			fake.CheckLent(t)
		})
	}
}

func TestAPartThatTheEngineDoesNotCheckComesOverHTTP(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	fake.Unverified = func(uint64, int) bool { return true }
	fake.OnBytes = flipAt(1)
	r := both(t, fake, dir)
	r.want(r.get("/read?file_id="+largeID+"&size=2000000"), http.StatusOK, "http", largeData[:2000000])
	r.want(r.get("/read?file_id="+largeID, "Range", "bytes=0-99"), http.StatusPartialContent, "http", largeData[:100])
	fake.CheckLent(t)
}

func TestAPartGoesOnOverHTTPWhereTheEngineStopsVouching(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	var doubt atomic.Bool
	fake.Unverified = func(uint64, int) bool { return doubt.Load() }
	fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
		if offset > 1<<20 {
			doubt.Store(true)
		}
		return nil
	}
	fake.OnBytes = flipAt(2 << 20)
	r := both(t, fake, dir)
	if r.wantNoWrongBytes(r.get("/read?file_id="+largeID+"&size="+strconv.Itoa(len(largeData)-1)), largeData[:len(largeData)-1]) {
		t.Error("the answer was cut off, although all that was sent was checked")
	}
	fake.CheckLent(t)
}

func TestAnUnpackedStartThatNobodyCheckedIsNotContinued(t *testing.T) {
	dir := packedVolume(t)
	for name, c := range map[string]struct {
		unchecked bool
		status    rde.Status
	}{"unchecked": {true, rde.StatusPeerDown}, "corrupt": {false, rde.StatusObjectCorrupt}, "changed": {false, rde.StatusVolumeChanging}} {
		t.Run(name, func(t *testing.T) {
			fake := enginetest.New(dir)
			fake.Unverified = func(uint64, int) bool { return c.unchecked }
			calls := 0
			fake.OnUnpacked = func(part []byte) error {
				if calls++; calls > 25 { // the size was found out in 24, and the first answer has begun
					return &rde.Error{Op: "read", Status: c.status}
				}
				part[0] ^= 1
				return nil
			}
			r := newRig(t, config.Config{VolumeServer: cluster.Server(volumeServer(t, dir).URL)}, fake)
			if !r.wantNoWrongBytes(r.get("/read?file_id="+packedID), bigPackedData) {
				t.Error("the answer was not cut off")
			}
		})
	}
}

func TestAPartOfAPackedObjectWaitsForTheCheck(t *testing.T) {
	dir := packedVolume(t)
	fake := enginetest.New(dir)
	fake.Unverified = func(uint64, int) bool { return true }
	fake.OnUnpacked = func(part []byte) error { part[0] ^= 1; return nil }
	r := both(t, fake, dir)
	r.want(r.get("/read?file_id="+packedID+"&offset=10&size=1000"), http.StatusOK, "http", bigPackedData[10:1010])
}

func TestACorruptObjectIsReadOverHTTPFromThenOn(t *testing.T) {
	dir := testVolume(t)
	for name, spoil := range map[string]func(fake *enginetest.Fake){
		"rotted": func(fake *enginetest.Fake) { fake.OnBytes = flipAt(6000) },
		"refused": func(fake *enginetest.Fake) {
			fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
				if offset > 1<<20 {
					return rde.StatusObjectCorrupt
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := enginetest.New(dir)
			spoil(fake)
			r := both(t, fake, dir)
			if !r.wantNoWrongBytes(r.get("/read?file_id="+largeID), largeData) {
				t.Error("the first answer was not cut off")
			}
			stats := fake.Stats.Load()
			for range 5 {
				r.want(r.get("/read?file_id="+largeID), http.StatusOK, "http", largeData)
				r.want(r.get("/read?file_id="+largeID+"&offset=5&size=9"), http.StatusOK, "http", largeData[5:14])
			}
			if fake.Stats.Load() != stats {
				t.Error("the engine was asked for an object that it has wrong bytes of")
			}
			r.want(r.get("/read?file_id="+smallID), http.StatusOK, "rdma", smallData)
			fake.CheckLent(t)
		})
	}
}

func TestAPackedObjectWithWrongBytesIsReadOverHTTPFromThenOn(t *testing.T) {
	dir := packedVolume(t)
	fake := enginetest.New(dir)
	calls := 0
	fake.OnUnpacked = func([]byte) error {
		if calls++; calls > 25 {
			return &rde.Error{Op: "read", Status: rde.StatusVolumeChanging}
		}
		return nil
	}
	r := both(t, fake, dir)
	if !r.wantNoWrongBytes(r.get("/read?file_id="+packedID), bigPackedData) {
		t.Error("the first answer was not cut off")
	}
	r.want(r.get("/read?file_id="+packedID), http.StatusOK, "http", bigPackedData)
}
