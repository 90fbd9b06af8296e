package app

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/tests/standin/server"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

// master is a scripted one: it names the servers that it is told to.
type master struct {
	*httptest.Server
	names atomic.Pointer[[]string] // HOST:PORT
	code  atomic.Int32             // answered instead when not 0
	asked atomic.Int32
}

func newMaster(t *testing.T, names ...string) *master {
	t.Helper()
	m := &master{}
	m.names.Store(&names)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.asked.Add(1)
		if code := m.code.Load(); code != 0 {
			http.Error(w, `{"error":"the test says so"}`, int(code))
			return
		}
		var locations []string
		for _, name := range *m.names.Load() {
			locations = append(locations, fmt.Sprintf(`{"url":%q,"publicUrl":%q}`, name, name))
		}
		fmt.Fprintf(w, `{"volumeOrFileId":"3","locations":[%s]}`, strings.Join(locations, ","))
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *master) name(servers ...string) { m.names.Store(&servers) }

func (m *master) config() config.Config {
	return config.Config{Masters: []string{m.Listener.Addr().String()}}
}

// counted is a server that counts its requests.
func counted(t *testing.T, handler http.Handler) (address string, count *atomic.Int32) {
	t.Helper()
	count = &atomic.Int32{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.Listener.Addr().String(), count
}

func status(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

// deadAddress refuses connections.
func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// blackHole takes no connection and refuses none: its queue is full.
func blackHole(t *testing.T) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(socket, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for {
		connection, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = connection.Close() })
	}
}

// halfway begins the right answer and cuts the connection in the middle.
func halfway(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			inner.ServeHTTP(w, r)
			return
		}
		recorder := httptest.NewRecorder()
		inner.ServeHTTP(recorder, r)
		for key, values := range recorder.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes()[:recorder.Body.Len()/2])
		panic(http.ErrAbortHandler)
	})
}

func TestAFailedReplicaIsPassedOverAndAskedLastFromThenOn(t *testing.T) {
	dir := testVolume(t)
	good := server.New(volume.Open(dir), server.Options{})
	hung := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, bad := range map[string]func(t *testing.T) string{
		"dead":       deadAddress,
		"black hole": blackHole,
		"error": func(t *testing.T) string {
			address, _ := counted(t, status(http.StatusInternalServerError))
			return address
		},
		"busy": func(t *testing.T) string {
			address, _ := counted(t, status(http.StatusTooManyRequests))
			return address
		},
		"hung":    func(t *testing.T) string { address, _ := counted(t, hung); return address },
		"halfway": func(t *testing.T) string { address, _ := counted(t, halfway(good)); return address },
	} {
		t.Run(name, func(t *testing.T) {
			goodAddress, _ := counted(t, good)
			badAddress := bad(t)
			c := newMaster(t, badAddress, goodAddress).config()
			c.ConnectTimeout = 300 * time.Millisecond
			r := newRig(t, c, nil)
			r.want(r.get("/read?file_id="+largeID), http.StatusOK, "http", largeData)
			for range 5 {
				got := r.get("/read?file_id=" + smallID)
				r.want(got, http.StatusOK, "http", smallData)
				if path := got.header.Get("X-Data-Path"); !strings.Contains(path, goodAddress) {
					t.Errorf("the next read came by %q", path)
				}
			}
		})
	}
}

func TestAVolumeThatMovedIsLookedUpAgain(t *testing.T) {
	dir := testVolume(t)
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+deadAddress(t)+r.URL.Path+"?proxied=true", http.StatusMovedPermanently)
	})
	found := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+deadAddress(t)+r.URL.Path, http.StatusFound)
	})
	for name, left := range map[string]http.Handler{"404": status(http.StatusNotFound), "301": elsewhere, "302 to dead": found} {
		t.Run(name, func(t *testing.T) {
			newHome := volumeServer(t, dir).Listener.Addr().String()
			oldHome, _ := counted(t, left)
			m := newMaster(t, oldHome)
			r := newRig(t, m.config(), nil)
			r.app.locator.Refresh(3) // the old home is remembered
			for _, ok := r.app.locator.Cached(3); !ok; _, ok = r.app.locator.Cached(3) {
				time.Sleep(time.Millisecond)
			}
			m.name(newHome)
			r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
			asked := m.asked.Load()
			r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
			if m.asked.Load() != asked {
				t.Error("the master was asked again although the new home is known")
			}
		})
	}
}

func TestANotFoundIsBelievedOnlyAfterTheMasterWasAskedAnew(t *testing.T) {
	home, _ := counted(t, status(http.StatusNotFound))
	m := newMaster(t, home)
	r := newRig(t, m.config(), nil)
	for range 2 {
		asked := m.asked.Load()
		if got := r.get("/read?file_id=" + smallID); got.code != http.StatusNotFound {
			t.Fatalf("got %d %s", got.code, got.body)
		}
		if m.asked.Load() == asked {
			t.Error("the master was not asked")
		}
	}
}

func TestANotFoundThatCannotBeConfirmedIsNoNotFound(t *testing.T) {
	home, _ := counted(t, status(http.StatusNotFound))
	m := newMaster(t, home)
	c := m.config()
	c.Timeout = time.Second
	r := newRig(t, c, nil)
	if got := r.get("/read?file_id=" + smallID); got.code != http.StatusNotFound {
		t.Fatalf("got %d", got.code)
	}
	m.code.Store(http.StatusInternalServerError)
	if got := r.get("/read?file_id=" + smallID); got.code < 500 {
		t.Errorf("got %d %s", got.code, got.body)
	}
}

func TestAMasterThatKnowsNoLocationYetIsWaitedFor(t *testing.T) {
	home := volumeServer(t, testVolume(t)).Listener.Addr().String()
	for name, script := range map[string]func(*master){
		"empty":   func(m *master) { m.name() },
		"error":   func(m *master) { m.code.Store(http.StatusInternalServerError) },
		"warming": func(m *master) { m.code.Store(http.StatusServiceUnavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t)
			script(m)
			time.AfterFunc(300*time.Millisecond, func() { m.name(home); m.code.Store(0) })
			r := newRig(t, m.config(), nil)
			r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
		})
	}
}

func TestAKnownLocationServesWhileTheMasterFails(t *testing.T) {
	m := newMaster(t, volumeServer(t, testVolume(t)).Listener.Addr().String())
	r := newRig(t, m.config(), nil)
	r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
	m.code.Store(http.StatusInternalServerError)
	r.want(r.get("/read?file_id="+largeID), http.StatusOK, "http", largeData)
}

func TestTheDeadlineOfTheRequestHolds(t *testing.T) {
	hung, _ := counted(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	m := newMaster(t, hung)
	c := m.config()
	c.Timeout = 300 * time.Millisecond
	r := newRig(t, c, nil)
	if got := r.get("/read?file_id=" + smallID); got.code != http.StatusGatewayTimeout {
		t.Errorf("got %d %s", got.code, got.body)
	}
}

func TestAServerThatBreaksOffIsAskedOnceMore(t *testing.T) {
	good := server.New(volume.Open(testVolume(t)), server.Options{})
	var count atomic.Int32
	home, _ := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		good.ServeHTTP(w, r)
	}))
	r := newRig(t, config.Config{VolumeServer: cluster.Server("http://" + home)}, nil)
	r.want(r.get("/read?file_id="+smallID), http.StatusOK, "http", smallData)
}

func TestWhatTheVolumeServerRefusesStaysRefused(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusBadRequest} {
		home, count := counted(t, status(code))
		r := newRig(t, config.Config{VolumeServer: cluster.Server("http://" + home)}, nil)
		if got := r.get("/read?file_id=" + smallID); got.code != code {
			t.Errorf("got %d, want %d", got.code, code)
		}
		if count.Load() != 1 {
			t.Errorf("%d: asked %d times", code, count.Load())
		}
	}
}

func TestAnswersThatDoNotFitTheirRangeAreNotPassedOn(t *testing.T) {
	dir := testVolume(t)
	good := volumeServer(t, dir).Listener.Addr().String()
	for name, set := range map[string]func(http.Header){
		"other range": func(h http.Header) { h.Set("Content-Range", "bytes 0-9/5000") },
		"no range":    func(h http.Header) { h.Del("Content-Range") },
		"nonsense":    func(h http.Header) { h.Set("Content-Range", "bytes x-y/z") },
		"packed":      func(h http.Header) { h.Set("Content-Encoding", "gzip") },
		"huge total":  func(h http.Header) { h.Set("Content-Range", "bytes 10-19/99999999999999999999999") },
	} {
		t.Run(name, func(t *testing.T) {
			liar, _ := counted(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Range", "bytes 10-19/5000")
				set(w.Header())
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write([]byte("0123456789"))
			}))
			r := newRig(t, newMaster(t, liar, good).config(), nil)
			r.want(r.get("/read?file_id="+smallID+"&offset=10&size=10"), http.StatusOK, "http", smallData[10:20])
		})
	}
}

func TestAServerThatIgnoresRangesStillServes(t *testing.T) {
	home, _ := counted(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		_, _ = w.Write(smallData)
	}))
	r := newRig(t, config.Config{VolumeServer: cluster.Server("http://" + home)}, nil)
	r.want(r.get("/read?file_id="+smallID+"&offset=10&size=10"), http.StatusOK, "http", smallData[10:20])
}

func TestOnlyAllowedServersAreAskedForAClient(t *testing.T) {
	dir := testVolume(t)
	named, allowed := volumeServer(t, dir).Listener.Addr().String(), volumeServer(t, dir).Listener.Addr().String()
	stranger, count := counted(t, status(http.StatusOK))
	c := newMaster(t, named).config()
	c.Allowed = []string{allowed}
	for name, fake := range map[string]*enginetest.Fake{"engine": enginetest.New(dir), "http": nil} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c, fake)
			for _, server := range []string{named, allowed, "http://" + named, "http://" + allowed + "/"} {
				if got := r.get("/read?file_id=" + smallID + "&volume_server=" + server); got.code != http.StatusOK {
					t.Errorf("%s: got %d %s", server, got.code, got.body)
				}
			}
			for _, server := range []string{stranger, "http://" + stranger, "localhost:1", "169.254.169.254"} {
				got := r.get("/read?file_id=" + smallID + "&volume_server=" + server)
				if got.code != http.StatusForbidden || !strings.Contains(string(got.body), "allow-volume-server") {
					t.Errorf("%s: got %d %s", server, got.code, got.body)
				}
			}
		})
	}
	if count.Load() != 0 {
		t.Errorf("the stranger was asked %d times", count.Load())
	}
}

func TestARedirectToAStrangerIsNotFollowed(t *testing.T) {
	stranger, count := counted(t, status(http.StatusOK))
	home, _ := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+stranger+r.URL.Path, http.StatusMovedPermanently)
	}))
	r := newRig(t, newMaster(t, home).config(), nil)
	if got := r.get("/read?file_id=" + smallID); got.code != http.StatusBadGateway || count.Load() != 0 {
		t.Errorf("got %d, the stranger was asked %d times", got.code, count.Load())
	}
}
