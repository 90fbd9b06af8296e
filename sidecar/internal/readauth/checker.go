package readauth

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
)

const (
	believedFor   = 5 * time.Minute // what a server said of tokens
	unknownFor    = 5 * time.Second // until a server that did not answer is asked again
	mostVolumes   = 1 << 16
	mostServers   = 1 << 12
	probeDeadline = time.Second
)

// Checker checks tokens where it has the key. Where it has not, it finds out whether the volume servers want
// tokens (they answer 401), and keeps the engine out of volumes whose servers do. For many goroutines.
type Checker struct {
	key     []byte
	servers *cluster.Servers
	client  *http.Client
	logger  *slog.Logger

	mutex   sync.Mutex
	volumes map[uint32]verdict
	wants   map[cluster.Server]verdict
}

type verdict struct {
	token bool // a token is wanted
	until time.Time
}

// New gives a checker; key may be nil.
func New(key []byte, servers *cluster.Servers, client *http.Client, logger *slog.Logger) *Checker {
	return &Checker{key: key, servers: servers, client: client, logger: logger,
		volumes: map[uint32]verdict{}, wants: map[cluster.Server]verdict{}}
}

// EngineAllowed tells whether the engine may serve a volume. With a key it always may, for each token is checked.
// Where no volume server is known, or none answers, nobody has asked for tokens and the engine may serve.
func (c *Checker) EngineAllowed(ctx context.Context, volume uint32, preferred cluster.Server) bool {
	if len(c.key) > 0 {
		return true
	}
	c.mutex.Lock()
	known, ok := c.volumes[volume]
	stale := ok && time.Now().After(known.until)
	if stale {
		// One asks anew; the others go on with what was known.
		known.until = time.Now().Add(unknownFor)
		c.volumes[volume] = known
	}
	c.mutex.Unlock()
	switch {
	case !ok:
		known = c.learn(ctx, volume, preferred, verdict{})
	case stale:
		go c.learn(context.WithoutCancel(ctx), volume, preferred, known)
	}
	return !known.token
}

func (c *Checker) learn(ctx context.Context, volume uint32, preferred cluster.Server, old verdict) verdict {
	fresh, answered := c.ask(ctx, volume, preferred)
	// Who once asked for tokens does so until it says otherwise, not until it is down.
	if !answered {
		fresh = verdict{old.token, time.Now().Add(unknownFor)}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.volumes) >= mostVolumes {
		clear(c.volumes)
	}
	c.volumes[volume] = fresh
	return fresh
}

// ask finds a server of the volume that says whether it wants tokens.
func (c *Checker) ask(ctx context.Context, volume uint32, preferred cluster.Server) (verdict, bool) {
	ctx, cancel := context.WithTimeout(ctx, probeDeadline)
	defer cancel()
	servers, _, _ := c.servers.Known(ctx, volume, preferred)
	for _, server := range c.servers.Health.Order(servers) {
		c.mutex.Lock()
		known, ok := c.wants[server]
		c.mutex.Unlock()
		if ok && time.Now().Before(known.until) {
			return known, true
		}
	}
	for _, server := range c.servers.Health.Order(servers) {
		wanted, err := c.probe(ctx, server)
		if err == nil {
			c.Note(server, wanted)
			return verdict{wanted, time.Now().Add(believedFor)}, true
		}
	}
	return verdict{}, false
}

// probe asks for an object that need not exist: tokens are looked at before anything else.
func (c *Checker) probe(ctx context.Context, server cluster.Server) (wanted bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, string(server)+"/1,0100000000", nil)
	if err != nil {
		return false, err
	}
	reply, err := c.client.Do(request)
	if err != nil {
		return false, err
	}
	_ = reply.Body.Close()
	return reply.StatusCode == http.StatusUnauthorized, nil
}

// Note is told what a server answered to a request without token.
func (c *Checker) Note(server cluster.Server, wanted bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, ok := c.wants[server]
	if wanted && !(ok && known.token) {
		c.logger.Warn("a volume server wants read tokens; without --jwt-read-key-file its volumes are read over HTTP only", "server", server)
		clear(c.volumes)
	}
	if len(c.wants) >= mostServers {
		clear(c.wants)
	}
	c.wants[server] = verdict{wanted, time.Now().Add(believedFor)}
}
