// Package cluster knows which volume servers hold a volume, which of them are well, and which a client may name.
//
//	locator := cluster.NewLocator(cluster.LocatorOptions{Masters: []string{"127.0.0.1:9333"}})
//	found, err := locator.Lookup(ctx, 3, time.Time{})
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

var (
	// ErrNoMaster says that no master is configured.
	ErrNoMaster = errors.New("no master is configured (--master)")
	// ErrUnknownVolume says that the master answered, and knows no such volume.
	ErrUnknownVolume = errors.New("the master knows no such volume")
)

const (
	locationTTL   = time.Minute     // a location older than this is looked up again
	unknownTTL    = time.Second     // and this long a "no such volume" is believed
	lookupTimeout = 2 * time.Second // of one question to one master
	lookupLimit   = 1 << 20         // bytes of an answer
	mostLocations = 1 << 16         // volumes remembered
	mostPerVolume = 64              // replicas of one volume
)

// Found is where a volume lies.
type Found struct {
	Servers []Server  // to ask, in the master's order
	Names   []Server  // all names that the master has for them, public ones too
	At      time.Time // when the master was asked
}

// LocatorOptions of a Locator. Without Masters every lookup fails with ErrNoMaster.
type LocatorOptions struct {
	Masters []string // HOST:PORT, asked in order until one answers
	Client  *http.Client
	OnReply func(result string) // for metrics: "found", "unknown" or "failed"; may be nil
}

// Locator asks the master where volumes lie, and remembers. For many goroutines.
type Locator struct {
	options LocatorOptions
	flights singleflight.Group
	mutex   sync.Mutex
	known   map[uint32]entry
}

type entry struct {
	found   Found
	unknown bool
}

// NewLocator gives a locator that knows nothing yet.
func NewLocator(options LocatorOptions) *Locator {
	return &Locator{options: options, known: map[uint32]entry{}}
}

// Cached gives what is remembered, however old, and looks it up in the background where it is too old.
func (l *Locator) Cached(volume uint32) (Found, bool) {
	l.mutex.Lock()
	known, ok := l.known[volume]
	l.mutex.Unlock()
	if !ok || known.unknown {
		return Found{}, false
	}
	if time.Since(known.found.At) > locationTTL {
		l.Refresh(volume)
	}
	return known.found, true
}

// HasMaster tells whether there is a master to ask.
func (l *Locator) HasMaster() bool { return len(l.options.Masters) > 0 }

// Lookup gives where a volume lies, from memory where that was learnt at notBefore or later and is not too old.
// It fails with ErrNoMaster, ErrUnknownVolume, or an error that may pass. Lookups of one volume share one question.
func (l *Locator) Lookup(ctx context.Context, volume uint32, notBefore time.Time) (Found, error) {
	if !l.HasMaster() {
		return Found{}, ErrNoMaster
	}
	if found, err, ok := l.remembered(volume, notBefore); ok {
		return found, err
	}
	for {
		flight := l.flights.DoChan(strconv.FormatUint(uint64(volume), 10), func() (any, error) {
			// The question outlives a caller who gives up: others may wait for it too.
			return l.ask(context.WithoutCancel(ctx), volume)
		})
		select {
		case <-ctx.Done():
			return Found{}, fmt.Errorf("looking up volume %d: %w", volume, ctx.Err())
		case result := <-flight:
			found, _ := result.Val.(Found)
			// A question that was under way already may be older than the caller wants.
			if result.Err == nil && found.At.Before(notBefore) {
				continue
			}
			return found, result.Err
		}
	}
}

// Refresh looks a volume up in the background.
func (l *Locator) Refresh(volume uint32) {
	if !l.HasMaster() {
		return
	}
	l.flights.DoChan(strconv.FormatUint(uint64(volume), 10), func() (any, error) {
		return l.ask(context.Background(), volume)
	})
}

func (l *Locator) remembered(volume uint32, notBefore time.Time) (Found, error, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	known, ok := l.known[volume]
	age := time.Since(known.found.At)
	switch {
	case !ok || known.found.At.Before(notBefore):
		return Found{}, nil, false
	case known.unknown:
		return Found{}, ErrUnknownVolume, age < unknownTTL
	default:
		return known.found, nil, age < locationTTL
	}
}

func (l *Locator) ask(ctx context.Context, volume uint32) (Found, error) {
	asked := time.Now()
	var errs []error
	for _, master := range l.options.Masters {
		found, err := l.askOne(ctx, master, volume)
		if err == nil || errors.Is(err, ErrUnknownVolume) {
			found.At = asked
			l.remember(volume, entry{found: found, unknown: err != nil})
			l.reply(map[bool]string{true: "found", false: "unknown"}[err == nil])
			return found, err
		}
		errs = append(errs, err)
	}
	l.reply("failed")
	return Found{}, errors.Join(errs...)
}

func (l *Locator) remember(volume uint32, fresh entry) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.known) >= mostLocations {
		clear(l.known)
	}
	l.known[volume] = fresh
}

func (l *Locator) reply(result string) {
	if l.options.OnReply != nil {
		l.options.OnReply(result)
	}
}

func (l *Locator) askOne(ctx context.Context, master string, volume uint32) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	url := fmt.Sprintf("http://%s/dir/lookup?volumeId=%d", master, volume)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Found{}, err
	}
	reply, err := l.options.Client.Do(request)
	if err != nil {
		return Found{}, fmt.Errorf("master %s: %w", master, err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(io.LimitReader(reply.Body, lookupLimit))
	if err != nil {
		return Found{}, fmt.Errorf("master %s: %w", master, err)
	}
	if reply.StatusCode == http.StatusNotFound {
		return Found{}, ErrUnknownVolume
	}
	if reply.StatusCode != http.StatusOK {
		return Found{}, fmt.Errorf("master %s: status %s", master, reply.Status)
	}
	return parseLookup(master, body)
}

func parseLookup(master string, body []byte) (Found, error) {
	var answer struct {
		Locations []struct {
			URL       string `json:"url"`
			PublicURL string `json:"publicUrl"`
		} `json:"locations"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return Found{}, fmt.Errorf("master %s: the answer is not JSON: %w", master, err)
	}
	var found Found
	for _, location := range answer.Locations[:min(len(answer.Locations), mostPerVolume)] {
		server, err := ParseServer(location.URL)
		if err != nil {
			continue
		}
		found.Servers = append(found.Servers, server)
		found.Names = append(found.Names, server)
		if public, err := ParseServer(location.PublicURL); err == nil && public != server {
			found.Names = append(found.Names, public)
		}
	}
	if len(found.Servers) == 0 {
		return Found{}, fmt.Errorf("master %s: it names no locations; its volume servers may not have reported yet", master)
	}
	return found, nil
}
