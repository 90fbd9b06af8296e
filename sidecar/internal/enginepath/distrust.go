package enginepath

import (
	"sync"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
)

const (
	distrustFor    = time.Minute
	mostDistrusted = 1 << 12
)

// distrusted remembers objects that the engine's bytes were wrong of, so that a client that asks again gets the bytes
// of another copy.
type distrusted struct {
	mutex *sync.Mutex
	until map[rde.FileID]time.Time
}

func newDistrusted() distrusted {
	return distrusted{mutex: &sync.Mutex{}, until: map[rde.FileID]time.Time{}}
}

func (d distrusted) learn(id rde.FileID, now time.Time) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if _, ok := d.until[id]; !ok && len(d.until) >= mostDistrusted {
		oldest, first := id, now.Add(distrustFor)
		for other, until := range d.until {
			if !until.After(first) {
				oldest, first = other, until
			}
		}
		delete(d.until, oldest)
	}
	d.until[id] = now.Add(distrustFor)
}

func (d distrusted) has(id rde.FileID, now time.Time) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	until, ok := d.until[id]
	if ok && !now.Before(until) {
		delete(d.until, id)
		return false
	}
	return ok
}

// Distrust keeps an object off the engine for a while.
func (p *Path) Distrust(id rde.FileID) { p.distrusted.learn(id, time.Now()) }

// note draws the lesson from an outcome for the next reads of the object.
func (p *Path) note(id rde.FileID, err error) error {
	if IsCorrupt(err) {
		p.Distrust(id)
	}
	return err
}

// trust says why the engine shall not be asked for an object. Where there is nobody else to ask, it is asked always.
func (p *Path) trust(preferred cluster.Server, id rde.FileID) error {
	if !p.distrusted.has(id, time.Now()) || preferred == "" && !p.options.Servers.HasAny() {
		return nil
	}
	return &rde.Error{Op: "read", Status: rde.StatusObjectCorrupt, Field: "object " + id.String(), Text: "the engine gave wrong bytes of it a moment ago"}
}
