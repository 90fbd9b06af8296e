package rde

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"
)

const everyRight = RegionRead | RegionWrite | RegionAtomic

// twoEngines are an owner's and a user's, and the user's handle of the owner's.
func twoEngines(t *testing.T, transport string) (owner, user *Client, peer Peer) {
	t.Helper()
	socket, listen, _ := realPeer(t, "--transport", transport)
	other, _ := realEngine(t, "--transport", transport, "--allow-peer", "127.0.0.0/8")
	owner, user = attachReal(t, socket, Options{}), attachReal(t, other, Options{})
	peer, err := user.Connect(watchdog(t), listen)
	if err != nil {
		t.Fatal(err)
	}
	return owner, user, peer
}

func open(t *testing.T, user *Client, peer Peer, exposed *ExposedRegion) *Region {
	t.Helper()
	region, err := user.OpenRegion(watchdog(t), peer, exposed.Token())
	if err != nil {
		t.Fatal(err)
	}
	return region
}

func expose(t *testing.T, owner *Client, length int, rights RegionRights, lifetime time.Duration) *ExposedRegion {
	t.Helper()
	exposed, err := owner.ExposeRegion(watchdog(t), length, rights, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return exposed
}

// useRegion does everything that a region is for.
func useRegion(t *testing.T, owner, user *Client, peer Peer) {
	t.Helper()
	ctx := watchdog(t)
	exposed := expose(t, owner, 3<<20, everyRight, time.Minute)
	region := open(t, user, peer, exposed)
	for _, size := range []int{1, 4096, 65537, 3<<20 - 8} {
		data := noise(size)
		if err := region.Write(ctx, 8, data); err != nil {
			t.Fatal(err)
		}
		if err := region.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(exposed.Bytes()[8:8+size], data) {
			t.Fatalf("%d bytes were not written as they are", size)
		}
		got, err := region.Read(ctx, 8, size)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), data) {
			t.Fatalf("%d bytes were not read as they are", size)
		}
		got.Release()
	}
	if was, err := region.FetchAdd(ctx, 0, 5); was != 0 || err != nil {
		t.Fatal(was, err)
	}
	if was, err := region.CompareSwap(ctx, 0, 5, 1<<40); was != 5 || err != nil {
		t.Fatal(was, err)
	}
	if was := binary.LittleEndian.Uint64(exposed.Bytes()); was != 1<<40 {
		t.Fatal(was)
	}
	_, err := region.FetchAdd(ctx, 4, 1)
	wantStatus(t, err, StatusRegionMisaligned)
	wantStatus(t, region.Write(ctx, 3<<20-7, noise(8)), StatusRegionOutOfRange)
	if err := exposed.Revoke(ctx); err != nil {
		t.Fatal(err)
	}
	if exposed.Bytes() != nil || exposed.Revoke(ctx) != nil {
		t.Fatal("a second revoke does something")
	}
	_, err = region.Read(ctx, 0, 8)
	wantStatus(t, err, StatusRegionRevoked)
	wantStatus(t, region.Write(ctx, 0, noise(8)), StatusRegionRevoked)
	wantStatus(t, region.Flush(ctx), StatusRegionRevoked)
	if err := region.Close(ctx); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, region.Flush(ctx), StatusStaleHandle)
	wantClean(t, owner)
	wantClean(t, user)
}

func TestARegionIsUsedFromAnotherEngineOverTCP(t *testing.T) {
	owner, user, peer := twoEngines(t, "tcp")
	useRegion(t, owner, user, peer)
}

func TestARegionIsUsedWithinAnEngine(t *testing.T) {
	socket, _ := realEngine(t)
	useRegion(t, attachReal(t, socket, Options{}), attachReal(t, socket, Options{}), 0)
}

func TestARegionDoesWhatItsTokenAllowsAndNoMore(t *testing.T) {
	owner, user, peer := twoEngines(t, "tcp")
	ctx := watchdog(t)
	exposed := expose(t, owner, 4096, RegionRead, 0)
	region := open(t, user, peer, exposed)
	wantStatus(t, region.Write(ctx, 0, noise(8)), StatusRegionDenied)
	_, err := region.CompareSwap(ctx, 0, 0, 1)
	wantStatus(t, err, StatusRegionDenied)
	token := exposed.Token()
	token[0] ^= 1
	guessed, err := user.OpenRegion(ctx, peer, token)
	if err != nil {
		t.Fatal(err)
	}
	_, err = guessed.Read(ctx, 0, 8)
	wantStatus(t, err, StatusRegionNotFound)
	// The user's own engine has made no such token.
	elsewhere := open(t, user, 0, exposed)
	_, err = elsewhere.Read(ctx, 0, 8)
	wantStatus(t, err, StatusRegionNotFound)
	short := open(t, user, peer, expose(t, owner, 4096, RegionRead, time.Millisecond))
	time.Sleep(5 * time.Millisecond)
	_, err = short.Read(ctx, 0, 8)
	wantStatus(t, err, StatusRegionExpired)
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	for !errors.Is(err, StatusRegionRevoked) && ctx.Err() == nil {
		_, err = region.Read(ctx, 0, 8)
	}
	wantStatus(t, err, StatusRegionRevoked)
}

func TestManyAddToOneWordAndNoneIsLost(t *testing.T) {
	owner, user, peer := twoEngines(t, "tcp")
	exposed := expose(t, owner, 8, everyRight, 0)
	near, far := open(t, owner, 0, exposed), open(t, user, peer, exposed)
	var wait sync.WaitGroup
	const each = 200
	for i := range 4 {
		region := []*Region{near, far}[i%2]
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range each {
				if _, err := region.FetchAdd(watchdog(t), 0, 1); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	wait.Wait()
	if sum, err := far.FetchAdd(watchdog(t), 0, 0); sum != 4*each || err != nil {
		t.Fatal(sum, err)
	}
}

func TestACancelledUseGivesItsMemoryBack(t *testing.T) {
	owner, user, peer := twoEngines(t, "tcp")
	region := open(t, user, peer, expose(t, owner, 8<<20, everyRight, 0))
	for i := range 20 {
		ctx, cancel := context.WithTimeout(watchdog(t), time.Duration(i)*100*time.Microsecond)
		_ = region.Write(ctx, 0, make([]byte, 8<<20))
		if b, err := region.Read(ctx, 0, 8<<20); err == nil {
			b.Release()
		}
		cancel()
	}
	if err := region.Flush(watchdog(t)); err != nil {
		t.Fatal(err)
	}
}

func TestWhatNoRegionCanBeIsRefusedAtOnce(t *testing.T) {
	socket, _ := realEngine(t)
	c := attachReal(t, socket, Options{})
	ctx := watchdog(t)
	_, err := c.ExposeRegion(ctx, 0, RegionRead, 0)
	wantStatus(t, err, StatusLengthZero)
	_, err = c.ExposeRegion(ctx, 8, RegionRead, 25*time.Hour)
	wantStatus(t, err, StatusInvalidRequest)
	_, err = c.ExposeRegion(ctx, 8, 0, 0)
	wantStatus(t, err, StatusInvalidRequest)
	_, err = c.OpenRegion(ctx, 12345, RegionToken{})
	wantStatus(t, err, StatusInvalidHandle)
	wantClean(t, c)
}
