package rde

import (
	"strings"
	"testing"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

func TestPingTellsTheEnginesTime(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	before := enginetest.Monotonic()
	got, err := c.Ping(watchdog(t))
	if err != nil || uint64(got.EngineTime) < before || uint64(got.EngineTime) > enginetest.Monotonic() || got.RTT <= 0 {
		t.Fatalf("%+v, error %v", got, err)
	}
}

func TestConnectSendsTheAddressAndGivesTheHandle(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	peer, err := c.Connect(watchdog(t), "127.0.0.1:18515")
	if err != nil || peer != enginetest.Peer {
		t.Fatalf("%#x, error %v", peer, err)
	}
	if err := c.Disconnect(watchdog(t), peer); err != nil {
		t.Fatal(err)
	}
	_, err = c.Connect(watchdog(t), "127.0.0.1:1")
	wantStatus(t, err, StatusPeerUnreachable)
	wantClean(t, c)
}

func TestAnAddressThatCannotBeIsRefusedHere(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	for _, address := range []string{"", strings.Repeat("x", 301)} {
		_, err := c.Connect(watchdog(t), address)
		wantStatus(t, err, StatusInvalidAddress)
	}
	if c.Stats().Requests != 0 {
		t.Fatal("it reached the ring")
	}
}

func TestCapabilitiesAreCopiedOut(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	got, err := c.Capabilities(watchdog(t))
	if err != nil || got.Version != "test" || got.Transport != "sim" || got.MaxTransfer != 1<<20 || got.Volumes != 2 || got.RealRDMA {
		t.Fatalf("%+v, error %v", got, err)
	}
	wantClean(t, c)
}

func TestStatTellsSizeKindAndNames(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	data := noise(77)
	e.Put(testID(object), enginetest.Object{Data: data, Flags: layout.CompletionFlagGzip, Mime: "text/plain", Name: "größe.txt"})
	got, err := c.Stat(watchdog(t), 0, object)
	want := ObjectStat{StoredSize: 77, LastModified: 1700000000, ETag: crcOf(data), Gzip: true, Mime: "text/plain", Name: "größe.txt"}
	if err != nil || got != want {
		t.Fatalf("%+v, error %v", got, err)
	}
}

func TestReadOptionsReachTheRequest(t *testing.T) {
	got := make(chan layout.Request, 1)
	e := enginetest.Start(t, enginetest.Options{Script: func(_ *enginetest.Conn, r *enginetest.Request) bool {
		got <- r.Request
		return false
	}})
	c := attachTo(t, e, Options{})
	e.Put(testID(object), enginetest.Object{Data: noise(10)})
	b, info, err := c.Read(watchdog(t), 9, object, 3, 5, SkipCRC(), Bulk())
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	r := <-got
	if r.Op != layout.OpObjectRead || r.Flags != layout.RequestFlagSkipCRC || r.Priority != layout.PriorityBulk || r.Handle != 9 || r.Length != 5 || r.DeadlineNS == 0 {
		t.Fatalf("request is %+v", r)
	}
	if !info.Unverified {
		t.Fatalf("info is %+v", info)
	}
}

func TestALengthThatCannotBeIsRefusedHere(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	for length, want := range map[int]Status{0: StatusLengthZero, -1: StatusLengthZero, c.MaxRead() + 1: StatusTransferTooLarge, 1 << 40: StatusTransferTooLarge} {
		_, _, err := c.Read(watchdog(t), 0, object, 0, length)
		wantStatus(t, err, want)
		if !strings.Contains(err.Error(), "length") {
			t.Errorf("length %d: error is %v", length, err)
		}
	}
	wantClean(t, c)
}

func TestTheLargestReadFits(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	e.Put(testID(object), enginetest.Object{Data: noise(c.MaxRead())})
	b, info, err := c.Read(watchdog(t), 0, object, 0, c.MaxRead())
	if err != nil || info.Bytes != c.MaxRead() {
		t.Fatalf("%+v, error %v", info, err)
	}
	b.Release()
	wantClean(t, c)
}
