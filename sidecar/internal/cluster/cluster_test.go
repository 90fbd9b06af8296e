package cluster

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestServersOfAllForms(t *testing.T) {
	for text, want := range map[string]Server{
		"http://Host:8080": "http://host:8080", "http://h:8080/": "http://h:8080", "h:8080": "http://h:8080", "h": "http://h:8080", "http://h": "http://h:80",
		"https://h": "https://h:443", "http://[::1]:8080": "http://[::1]:8080", "[::1]:8080": "http://[::1]:8080", "127.0.0.1:1": "http://127.0.0.1:1",
	} {
		if got, err := ParseServer(text); err != nil || got != want {
			t.Errorf("%s: got %s %v, want %s", text, got, err, want)
		}
	}
}

func TestWhatIsNoServerIsRefused(t *testing.T) {
	for _, text := range []string{"", "http://", "ftp://h", "http://u:p@h", "http://h/x", "http://h?x", "http://h#x", "http://h:0", "http://h:65536",
		"http://h:x", "h:8080/..", "http://h x", "http://h\nx", "http://%68", "://h", "http://h,i:1", "gopher://h:70"} {
		if got, err := ParseServer(text); err == nil {
			t.Errorf("%q was taken for %s", text, got)
		}
	}
}

func FuzzAServerIsAlwaysHostAndPort(f *testing.F) {
	f.Add("http://127.0.0.1:8080")
	f.Fuzz(func(t *testing.T, text string) {
		server, err := ParseServer(text)
		if err != nil {
			return
		}
		if _, _, err := net.SplitHostPort(server.HostPort()); err != nil {
			t.Errorf("%q became %q", text, server)
		}
		if again, err := ParseServer(string(server)); err != nil || again != server {
			t.Errorf("%q became %q became %q", text, server, again)
		}
	})
}

func TestLookupsAtOnceShareOneQuestion(t *testing.T) {
	var asked atomic.Int32
	release := make(chan struct{})
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-release
		fmt.Fprint(w, `{"locations":[{"url":"h:1","publicUrl":"p:2"}]}`)
	}))
	defer master.Close()
	locator := NewLocator(LocatorOptions{Masters: []string{master.Listener.Addr().String()}, Client: http.DefaultClient})
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			found, err := locator.Lookup(t.Context(), 3, time.Time{})
			if err != nil || !slices.Equal(found.Servers, []Server{"http://h:1"}) || !slices.Contains(found.Names, "http://p:2") {
				t.Errorf("got %v %v", found, err)
			}
		})
	}
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	waiting.Wait()
	// One that came late may have asked again before the first was remembered, but not each.
	if asked.Load() > 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestTheSecondMasterIsAskedWhenTheFirstFails(t *testing.T) {
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"locations":[{"url":"h:1"}]}`)
	}))
	defer master.Close()
	locator := NewLocator(LocatorOptions{Masters: []string{"127.0.0.1:1", master.Listener.Addr().String()}, Client: http.DefaultClient})
	if found, err := locator.Lookup(t.Context(), 3, time.Time{}); err != nil || len(found.Servers) != 1 {
		t.Errorf("got %v %v", found, err)
	}
}

func TestAMasterThatTalksNonsenseIsAnError(t *testing.T) {
	for _, body := range []string{"", "{", "[]", `{"locations":[]}`, `{"locations":[{"url":"http://u@h"}]}`, `{"locations":"x"}`} {
		if found, err := parseLookup("m:1", []byte(body)); err == nil {
			t.Errorf("%s: %v", body, found)
		}
	}
}

func TestAFailedServerComesLastUntilItTakesConnectionsAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	health := NewHealth(time.Second, slog.New(slog.DiscardHandler))
	defer health.Close()
	bad, good := Server("http://"+listener.Addr().String()), Server("http://h:1")
	health.Failed(bad, net.ErrClosed)
	if got := health.Order([]Server{bad, good}); got[0] != good || health.Demoted() != 1 {
		t.Errorf("order %v", got)
	}
	health.failed[bad].until = time.Now() // its time is over
	for deadline := time.Now().Add(10 * time.Second); health.Order([]Server{bad, good})[0] != bad; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came back")
		}
	}
	health.Failed(bad, net.ErrClosed)
	if lasted := health.failed[bad].lasted; lasted != 2*firstDemotion {
		t.Errorf("the second time lasts %v", lasted)
	}
	health.Worked(bad)
	if health.Demoted() != 0 {
		t.Error("it is demoted although it worked")
	}
}
