package app

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
	"github.com/rdma-engine/rdma-engine/tests/standin/volumetest"
)

// both gives a sidecar with an engine and a volume server that serve the same folder.
func both(t *testing.T, fake *enginetest.Fake, dir string) *rig {
	t.Helper()
	return newRig(t, config.Config{VolumeServer: cluster.Server(volumeServer(t, dir).URL)}, fake)
}

func TestAnAnswerGoesOnOverHTTPWhenTheEngineDiesInItsMiddle(t *testing.T) {
	dir := testVolume(t)
	for _, last := range []int{2, 3, 4} {
		fake := enginetest.New(dir)
		fake.OnRead = func(_ context.Context, call int, _ uint64) error {
			if call == last {
				fake.Die()
			}
			return nil
		}
		r := both(t, fake, dir)
		got := r.get("/read?file_id=" + largeID)
		if got.err != nil || got.code != http.StatusOK || !bytes.Equal(got.body, largeData) {
			t.Fatalf("read %d: got %d, %d bytes, %v", last, got.code, len(got.body), got.err)
		}
		fake.CheckLent(t)
	}
}

func TestAnAnswerGoesOnWhenAReadInItsMiddleFails(t *testing.T) {
	dir := testVolume(t)
	for _, status := range []rde.Status{rde.StatusPeerDown, rde.StatusIoError, rde.StatusObjectNotFound, rde.StatusOutOfBuffers, rde.StatusInternal} {
		fake := enginetest.New(dir)
		fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
			if offset > 1<<20 {
				return status
			}
			return nil
		}
		r := both(t, fake, dir)
		r.want(r.get("/read?file_id="+largeID), http.StatusOK, "rdma", largeData)
		fake.CheckLent(t)
	}
}

func TestAnAnswerIsCutOffWhenTheRestIsOfAnotherObject(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
		if offset < 1<<20 {
			return nil
		}
		build := volumetest.New(3)
		build.Add(2, volumetest.Object{Data: pattern(len(largeData), 99)})
		if err := build.Save(dir); err != nil {
			t.Error(err)
		}
		return rde.StatusPeerDown
	}
	r := both(t, fake, dir)
	got := r.get("/read?file_id=" + largeID)
	if got.err == nil {
		t.Fatalf("the answer looks whole: %d bytes", len(got.body))
	}
	if !bytes.HasPrefix(largeData, got.body) {
		t.Error("bytes of the other object were sent")
	}
	if text := string(r.get("/metrics").body); !strings.Contains(text, "reads_aborted_total 1") {
		t.Error("reads_aborted_total did not move")
	}
}

func TestAnObjectThatIsOverwrittenWhileItIsReadIsNotMixed(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	var once sync.Once
	fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
		if offset > 1<<20 {
			once.Do(func() {
				build := volumetest.New(3)
				build.Add(2, volumetest.Object{Data: pattern(len(largeData), 99)})
				if err := build.Save(dir); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	}
	if got := both(t, fake, dir).get("/read?file_id=" + largeID); got.err == nil {
		t.Errorf("a mixture of %d bytes looks whole", len(got.body))
	}
	fake.CheckLent(t)
}

func TestEveryFailureOfTheEngineFallsBack(t *testing.T) {
	dir := testVolume(t)
	for _, status := range []rde.Status{rde.StatusInvalidRequest, rde.StatusVolumeNotFound, rde.StatusObjectNotFound, rde.StatusObjectCorrupt,
		rde.StatusIoError, rde.StatusVolumeRemote, rde.StatusPeerDown, rde.StatusNetworkTimeout, rde.StatusDraining, rde.StatusOutOfBuffers,
		rde.StatusPermissionDenied, rde.StatusOperationFailed, rde.StatusInternal, rde.StatusEngineBroken, rde.Status(12345)} {
		fake := enginetest.New(dir)
		fake.OnRead = func(context.Context, int, uint64) error { return status }
		fake.OnStat = func(context.Context) error { return status }
		r := both(t, fake, dir)
		r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
	}
}

func TestWithoutVolumeServerTheEnginesWordIsFinal(t *testing.T) {
	for status, code := range map[rde.Status]int{rde.StatusObjectNotFound: http.StatusNotFound, rde.StatusVolumeNotFound: http.StatusNotFound,
		rde.StatusObjectCorrupt: http.StatusBadGateway, rde.StatusPeerDown: http.StatusServiceUnavailable, rde.StatusOutOfBuffers: http.StatusServiceUnavailable} {
		fake := enginetest.New(testVolume(t))
		fake.OnRead = func(context.Context, int, uint64) error { return status }
		fake.OnStat = func(context.Context) error { return status }
		r := newRig(t, config.Config{}, fake)
		for range 2 { // a failure that is remembered is told alike
			if got := r.get("/read?file_id=" + smallID); got.code != code {
				t.Errorf("%v: got %d %s", status, got.code, got.body)
			}
		}
	}
}

func TestWithNeitherEngineNorVolumeServerTheTextSaysWhatToDo(t *testing.T) {
	r := newRig(t, config.Config{}, nil)
	got := r.get("/read?file_id=" + smallID)
	if got.code != http.StatusServiceUnavailable || !strings.Contains(string(got.body), "--master") || got.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", got.code, got.body)
	}
	if got := r.get("/health"); got.code != http.StatusServiceUnavailable {
		t.Errorf("health: got %d %s", got.code, got.body)
	}
}

func TestTheEngineIsAttachedAnewAfterItDied(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	r := both(t, fake, dir)
	fake.Refuse.Store(true)
	fake.Die()
	r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
	if got := r.get("/health"); got.code != http.StatusOK || !strings.Contains(string(got.body), `"connected":false`) {
		t.Errorf("health: got %d %s", got.code, got.body)
	}
	fake.Refuse.Store(false)
	r.attached()
	r.want(r.get("/read?file_id="+smallID), http.StatusOK, "rdma", smallData)
}

func TestAFrozenEngineIsLeftAloneUntilItAnswersAgain(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	var frozen atomic.Bool
	frozen.Store(true)
	hang := func(ctx context.Context) error {
		if frozen.Load() {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	fake.OnStat, fake.OnPing = hang, hang
	fake.OnRead = func(ctx context.Context, _ int, _ uint64) error { return hang(ctx) }
	r := newRig(t, config.Config{VolumeServer: cluster.Server(volumeServer(t, dir).URL), EngineTimeout: 50 * time.Millisecond}, fake)
	for range 3 {
		r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
	}
	for r.app.manager.Current() != nil {
		time.Sleep(time.Millisecond)
	}
	reads := fake.Stats.Load()
	r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
	if fake.Stats.Load() != reads {
		t.Error("a frozen engine was asked")
	}
	frozen.Store(false)
	r.attached()
	fake.CheckLent(t)
}

func TestAVolumeOfAnotherHostIsReadThroughTheEngineThere(t *testing.T) {
	dir := testVolume(t)
	home := volumeServer(t, dir).Listener.Addr().String()
	m := newMaster(t, home)
	for name, c := range map[string]struct {
		engines map[string]string
		address string
	}{
		"same host, usual port": {nil, "127.0.0.1:18515"},
		"table by host":         {map[string]string{"127.0.0.1": "engine-a:7"}, "engine-a:7"},
		"table by server":       {map[string]string{"127.0.0.1": "engine-a:7", home: "engine-b:8"}, "engine-b:8"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := enginetest.New()
			fake.Peers = map[string]*volume.Store{c.address: volume.Open(dir)}
			settings := m.config()
			settings.Engines = c.engines
			r := newRig(t, settings, fake)
			for range 3 {
				got := r.get("/read?file_id=" + smallID)
				r.want(got, http.StatusOK, "rdma", smallData)
				if path := got.header.Get("X-Data-Path"); !strings.Contains(path, c.address) {
					t.Errorf("X-Data-Path %q", path)
				}
			}
			if fake.Connects.Load() != 1 {
				t.Errorf("connected %d times", fake.Connects.Load())
			}
			fake.ForgetPeers()
			r.want(r.get("/read?file_id="+smallID), http.StatusOK, "rdma", smallData)
			if fake.Connects.Load() != 2 {
				t.Errorf("connected %d times", fake.Connects.Load())
			}
		})
	}
}

func TestAnEngineThatCannotBeReachedIsNotTriedForEachRead(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New()
	r := newRig(t, newMaster(t, volumeServer(t, dir).Listener.Addr().String()).config(), fake)
	for range 20 {
		r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
	}
	if fake.Connects.Load() > 3 {
		t.Errorf("connected %d times", fake.Connects.Load())
	}
}

func TestADefinitiveNotFoundIsNoFailureOfTheEngine(t *testing.T) {
	dir := testVolume(t)
	r := both(t, enginetest.New(dir), dir)
	for range 10 {
		if got := r.get("/read?file_id=3,ff00000001"); got.code != http.StatusNotFound {
			t.Fatalf("got %d", got.code)
		}
	}
	r.want(r.get("/read?file_id="+smallID), http.StatusOK, "rdma", smallData)
}

func TestBytesAreCopiedWhereTheOperatorWantsIt(t *testing.T) {
	fake := enginetest.New(testVolume(t))
	r := newRig(t, config.Config{}, fake, noZeroCopy)
	r.want(r.get("/read?file_id="+largeID), http.StatusOK, "rdma", largeData)
	fake.CheckLent(t)
}

func TestAClientThatGoesAwayGivesTheEnginesMemoryBack(t *testing.T) {
	fake := enginetest.New(testVolume(t))
	r := newRig(t, config.Config{}, fake)
	for range 20 {
		reply, err := http.Get(r.url + "/read?file_id=" + largeID)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = reply.Body.Read(make([]byte, 10))
		_ = reply.Body.Close()
	}
	fake.CheckLent(t)
}

func TestReadsStayRightWhileTheEngineDiesAgainAndAgain(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	r := both(t, fake, dir)
	r.want(r.get("/read?file_id="+largeID), http.StatusOK, "rdma", largeData)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var workers sync.WaitGroup
	var reads atomic.Int64
	for i := range 8 {
		workers.Go(func() {
			for turn := 0; ctx.Err() == nil; turn++ {
				id, data := smallID, smallData
				if (turn+i)%4 == 0 {
					id, data = largeID, largeData
				}
				offset := (turn * 997) % len(data)
				got := r.get(fmt.Sprintf("/read?file_id=%s&offset=%d", id, offset))
				if got.err != nil || got.code != http.StatusOK || !bytes.Equal(got.body, data[offset:]) {
					t.Errorf("got %d, %d bytes, %v", got.code, len(got.body), got.err)
					return
				}
				reads.Add(1)
			}
		})
	}
	for ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		fake.Die()
	}
	workers.Wait()
	fake.CheckLent(t)
	if fake.Attaches.Load() < 3 || reads.Load() < 10 {
		t.Errorf("%d attaches, %d reads: nothing was tried", fake.Attaches.Load(), reads.Load())
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	r.app.client.CloseIdleConnections()
	waitUntil(t, "goroutines grew", func() bool { return runtime.NumGoroutine() <= goroutines+10 })
	waitUntil(t, "open files grew", func() bool { return openFiles(t) <= files+5 })
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func waitUntil(t *testing.T, complaint string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(complaint)
		}
	}
}
