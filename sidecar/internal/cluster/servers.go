package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// DefaultEnginePort is where a storage engine listens beside its volume server.
const DefaultEnginePort = "18515"

// Servers joins what the operator configured with what the master says.
type Servers struct {
	Locator *Locator
	Health  *Health
	Fixed   Server            // --volume-server; "" = none
	Allowed []string          // --allow-volume-server: HOST or HOST:PORT, in lower case
	Engines map[string]string // --engine-peer: volume server HOST or HOST:PORT → storage engine HOST:PORT
}

// HasAny tells whether a read without the engine could find a volume server at all.
func (s *Servers) HasAny() bool {
	return s.Fixed != "" || len(s.Allowed) > 0 || s.Locator.HasMaster()
}

// Permit tells whether a client may name this server for reads of the volume: nil, or a failure with 403.
// The sidecar must not fetch from wherever a client likes.
func (s *Servers) Permit(ctx context.Context, server Server, volume uint32) error {
	if server == s.Fixed || slices.Contains(s.Allowed, server.HostPort()) || slices.Contains(s.Allowed, server.Host()) {
		return nil
	}
	// What the master said a second ago is believed, so that a client cannot make us ask it without end.
	found, err := s.Locator.Lookup(ctx, volume, time.Time{})
	if err == nil && !names(found, server) {
		found, err = s.Locator.Lookup(ctx, volume, time.Now().Add(-time.Second))
	}
	if err != nil && !errors.Is(err, ErrUnknownVolume) {
		found, _ = s.Locator.Cached(volume) // while the master is away, what it said last holds
	}
	if names(found, server) {
		return nil
	}
	why := "the master does not name it for volume %d"
	switch {
	case errors.Is(err, ErrNoMaster):
		why = "it is neither --volume-server nor in --allow-volume-server, and there is no --master to ask about volume %d"
	case errors.Is(err, ErrUnknownVolume):
		why = "the master knows no volume %d"
	case err != nil:
		why = "the master could not be asked about volume %d"
	}
	return &object.Failure{Code: http.StatusForbidden, Certain: true, Cause: err,
		Text: fmt.Sprintf("volume_server %q is not allowed: "+why+"; add --allow-volume-server %s to the sidecar",
			string(server), volume, server.HostPort())}
}

func names(found Found, server Server) bool {
	return slices.ContainsFunc(found.Names, func(name Server) bool { return name.HostPort() == server.HostPort() })
}

// Known gives the servers to ask for a volume: the preferred one first ("" = none), then the master's, then the
// fixed one. It waits for the master only where nothing is known yet. asked is when the master was asked.
func (s *Servers) Known(ctx context.Context, volume uint32, preferred Server) (servers []Server, asked time.Time, err error) {
	if !s.Locator.HasMaster() {
		return s.join(Found{}, preferred), time.Time{}, ErrNoMaster
	}
	if found, ok := s.Locator.Cached(volume); ok {
		return s.join(found, preferred), found.At, nil
	}
	if preferred != "" {
		s.Locator.Refresh(volume)
		return s.join(Found{}, preferred), time.Time{}, nil
	}
	found, err := s.Locator.Lookup(ctx, volume, time.Time{})
	return s.join(found, ""), found.At, err
}

// Fresh is Known with an answer of the master that is not older than notBefore.
func (s *Servers) Fresh(ctx context.Context, volume uint32, preferred Server, notBefore time.Time) ([]Server, error) {
	found, err := s.Locator.Lookup(ctx, volume, notBefore)
	return s.join(found, preferred), err
}

func (s *Servers) join(found Found, preferred Server) []Server {
	var joined []Server
	add := func(server Server) {
		if server != "" && !slices.Contains(joined, server) {
			joined = append(joined, server)
		}
	}
	add(preferred)
	for _, server := range found.Servers {
		add(server)
	}
	add(s.Fixed)
	return joined
}

// EngineAddress is where the storage engine beside a volume server listens.
func (s *Servers) EngineAddress(server Server) string {
	if address, ok := s.Engines[server.HostPort()]; ok {
		return address
	}
	if address, ok := s.Engines[server.Host()]; ok {
		return address
	}
	return net.JoinHostPort(strings.ToLower(server.Host()), DefaultEnginePort)
}
