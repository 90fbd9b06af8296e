package enginepath

import (
	"sync"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

const (
	hintsFor  = time.Minute
	mostHints = 1 << 15
)

// hints remembers what objects were like. An object may be overwritten, so a hint only decides how to ask and
// what to decline, never what an answer says.
type hints struct {
	mutex *sync.Mutex
	known map[rde.FileID]hint
}

type hint struct {
	meta object.Meta
	at   time.Time
}

func newHints() hints { return hints{mutex: &sync.Mutex{}, known: map[rde.FileID]hint{}} }

func (h hints) learn(id rde.FileID, meta object.Meta) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if _, ok := h.known[id]; !ok && len(h.known) >= mostHints {
		for old := range h.known { // any one makes room
			delete(h.known, old)
			break
		}
	}
	h.known[id] = hint{meta, time.Now()}
}

func (h hints) recall(id rde.FileID) (object.Meta, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	known, ok := h.known[id]
	if !ok || time.Since(known.at) > hintsFor {
		return object.Meta{}, false
	}
	return known.meta, true
}
