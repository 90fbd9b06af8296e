package rde

import (
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

func TestASessionIsOpenedReadInAndClosed(t *testing.T) {
	got := make(chan layout.Request, 8)
	e := enginetest.Start(t, enginetest.Options{Script: func(_ *enginetest.Conn, r *enginetest.Request) bool {
		got <- r.Request
		return false
	}})
	c := attachTo(t, e, Options{})
	e.Put(testID(object), enginetest.Object{Data: noise(10)})
	session, err := c.OpenSession(watchdog(t), SessionOptions{Peer: 9, Timeout: 3 * time.Second})
	if err != nil || session.Handle() != enginetest.Session {
		t.Fatalf("%+v, error %v", session, err)
	}
	if r := <-got; r.Op != layout.OpSessionOpen || r.Handle != 9 || r.Args[0] != 0 || r.Args[1] != 0x5E {
		t.Fatalf("request is %+v", r)
	}
	b, _, err := session.Read(watchdog(t), object, 0, 10, SkipCRC())
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	if r := <-got; r.Flags != layout.RequestFlagInSession|layout.RequestFlagSkipCRC || r.Handle != enginetest.Session {
		t.Fatalf("request is %+v", r)
	}
	crc := crcOf([]byte(enginetest.SessionBytes))
	result, err := session.Close(watchdog(t), SessionReport{Bytes: 9, CRC: &crc})
	if err != nil || result != (SessionResult{Bytes: 9, CRC: crc}) {
		t.Fatalf("%+v, error %v", result, err)
	}
	_, err = session.Close(watchdog(t), SessionReport{})
	wantStatus(t, err, StatusStaleHandle)
	wantClean(t, c)
}

func TestAChecksumThatDiffersIsAnErrorWithTheEnginesOwn(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	session, err := c.OpenSession(watchdog(t), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wrong := uint32(1)
	result, err := session.Close(watchdog(t), SessionReport{CRC: &wrong})
	wantStatus(t, err, StatusCRCMismatch)
	if result.CRC != crcOf([]byte(enginetest.SessionBytes)) {
		t.Fatalf("%+v", result)
	}
	wantClean(t, c)
}

func TestASessionTooManyIsRefused(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	if _, err := c.OpenSession(watchdog(t), SessionOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := c.OpenSession(watchdog(t), SessionOptions{})
	wantStatus(t, err, StatusTooManySessions)
	for _, timeout := range []time.Duration{-1, 24*time.Hour + 1} {
		_, err := c.OpenSession(watchdog(t), SessionOptions{Timeout: timeout})
		wantStatus(t, err, StatusInvalidRequest)
	}
}

func TestASessionOfAnEngineThatHasGoneSaysSo(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	session, err := c.OpenSession(watchdog(t), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.Kill()
	<-c.Done()
	_, err = session.Close(watchdog(t), SessionReport{})
	wantStatus(t, err, StatusEngineGone)
	_, _, err = session.Read(watchdog(t), object, 0, 10)
	wantStatus(t, err, StatusEngineGone)
}
