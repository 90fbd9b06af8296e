package cluster

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	firstDemotion   = time.Second
	longestDemotion = 30 * time.Second
	mostRemembered  = 1 << 12 // servers
)

// Health remembers which servers failed. A server that failed is asked last until its time is over and it
// takes a connection again; that is tried beside the reads, so that none of them waits for it.
type Health struct {
	dialTimeout time.Duration
	logger      *slog.Logger
	ctx         context.Context
	stop        context.CancelFunc
	probes      sync.WaitGroup
	mutex       sync.Mutex
	failed      map[Server]*failure
}

type failure struct {
	until   time.Time
	lasted  time.Duration
	again   bool // it took a connection: use it, but remember how often it failed
	probing bool
}

// NewHealth gives a memory in which every server is well. Close it to end its probes.
func NewHealth(dialTimeout time.Duration, logger *slog.Logger) *Health {
	h := &Health{dialTimeout: dialTimeout, logger: logger, failed: map[Server]*failure{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Close ends the probes.
func (h *Health) Close() {
	h.stop()
	h.probes.Wait()
}

// Failed demotes a server.
func (h *Health) Failed(server Server, why error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	known := h.failed[server]
	if known == nil {
		if len(h.failed) >= mostRemembered {
			clear(h.failed)
		}
		known = &failure{}
		h.failed[server] = known
		h.logger.Warn("a volume server failed; it is asked last from now on", "server", server, "error", why)
	}
	known.lasted = min(max(2*known.lasted, firstDemotion), longestDemotion)
	known.until = time.Now().Add(known.lasted)
	known.again = false
}

// Worked forgets the failures of a server.
func (h *Health) Worked(server Server) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.failed[server] != nil {
		delete(h.failed, server)
		h.logger.Info("a volume server is well again", "server", server)
	}
}

// Demoted counts the servers that are asked last.
func (h *Health) Demoted() int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	count := 0
	for _, known := range h.failed {
		if !known.again {
			count++
		}
	}
	return count
}

// Order gives the servers, those that are well first; otherwise their order stays.
func (h *Health) Order(servers []Server) []Server {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	ordered := slices.Clone(servers)
	if len(h.failed) == 0 {
		return ordered
	}
	demoted := map[Server]int{}
	for _, server := range servers {
		if known := h.failed[server]; known != nil && !known.again {
			demoted[server] = 1
			h.probe(server, known)
		}
	}
	slices.SortStableFunc(ordered, func(a, b Server) int { return demoted[a] - demoted[b] })
	return ordered
}

// probe dials a server whose time is over. The mutex is held.
func (h *Health) probe(server Server, known *failure) {
	if known.probing || time.Now().Before(known.until) || h.ctx.Err() != nil {
		return
	}
	known.probing = true
	h.probes.Go(func() {
		dialer := net.Dialer{Timeout: h.dialTimeout}
		connection, err := dialer.DialContext(h.ctx, "tcp", server.HostPort())
		if err == nil {
			_ = connection.Close()
		}
		h.mutex.Lock()
		defer h.mutex.Unlock()
		known.probing = false
		known.again = err == nil
		if err != nil {
			known.lasted = min(2*known.lasted, longestDemotion)
			known.until = time.Now().Add(known.lasted)
		}
	})
}
