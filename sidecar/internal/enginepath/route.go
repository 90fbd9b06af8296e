package enginepath

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
)

// target is whom the engine shall ask: a peer, or whoever it knows to have the volume (peer 0).
type target struct {
	session *engine.Session
	peer    engine.Peer
	address string // of the peer; "" with peer 0
}

func (t target) detail(local bool) string {
	switch {
	case local:
		return "engine, local volume"
	case t.address == "":
		return "engine, a peer of its choice"
	default:
		return "engine, peer " + t.address
	}
}

const (
	absentFor   = 5 * time.Second // how long "the engine itself knows nobody with this volume" is believed
	firstRest   = time.Second
	longestRest = 30 * time.Second
	mostRoutes  = 1 << 16
)

// routes remembers, for each volume, what did not work, so that the next read does not wait for it again.
type routes struct {
	mutex *sync.Mutex
	known map[uint32]routeState
}

type routeState struct {
	session  *engine.Session // what is said below holds for this one
	absent   time.Time       // until then peer 0 is not asked
	nowhere  time.Time       // until then nobody is asked
	lasted   time.Duration   // of the last rest
	affinity cluster.Server  // whose engine served last
}

func newRoutes() routes { return routes{mutex: &sync.Mutex{}, known: map[uint32]routeState{}} }

func (r routes) get(volume uint32, session *engine.Session) routeState {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	state := r.known[volume]
	if state.session != session {
		return routeState{session: session}
	}
	return state
}

func (r routes) update(volume uint32, session *engine.Session, change func(*routeState)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	state := r.known[volume]
	if state.session != session {
		state = routeState{session: session}
	}
	change(&state)
	if len(r.known) >= mostRoutes {
		clear(r.known)
	}
	r.known[volume] = state
}

// rest keeps a volume off the engine for a while, longer each time.
func (s *routeState) rest() {
	s.lasted = min(max(2*s.lasted, firstRest), longestRest)
	s.nowhere = time.Now().Add(s.lasted)
}

// route does a request at whoever serves the volume: the engine's own choice first, then the engines beside the
// volume servers that hold it.
func (p *Path) route(ctx context.Context, volume uint32, preferred cluster.Server, do func(target) error) error {
	session := p.options.Manager.Current()
	if session == nil {
		return ErrAway
	}
	state := p.routes.get(volume, session)
	now := time.Now()
	if preferred == "" && !p.options.Servers.HasAny() {
		state = routeState{} // there is nobody else to ask meanwhile
	}
	if now.Before(state.nowhere) {
		return ErrResting
	}
	if !now.Before(state.absent) {
		err := p.settle(ctx, volume, target{session: session}, do(target{session: session}))
		if !errors.Is(err, rde.StatusVolumeNotFound) {
			return err
		}
		p.routes.update(volume, session, func(s *routeState) { s.absent = now.Add(absentFor) })
	}
	served, remote := p.routeRemote(ctx, volume, preferred, session, state.affinity, do)
	if served {
		return remote
	}
	p.routes.update(volume, session, func(s *routeState) { s.nowhere = now.Add(firstRest) })
	if remote == nil {
		remote = &rde.Error{Op: "read", Status: rde.StatusVolumeNotFound, Text: "no volume server of it is known either"}
	}
	return remote
}

// routeRemote asks the engines beside the volume servers, until one serves the volume. served is false where none
// could be asked or has it; err is then what the last one said, if any.
func (p *Path) routeRemote(ctx context.Context, volume uint32, preferred cluster.Server, session *engine.Session,
	affinity cluster.Server, do func(target) error) (served bool, err error) {
	servers, _, _ := p.options.Servers.Known(ctx, volume, preferred)
	if i := slices.Index(servers, affinity); i > 0 {
		servers[0], servers[i] = servers[i], servers[0]
	}
	for _, server := range servers {
		err = p.atPeer(ctx, volume, target{session: session, address: p.options.Servers.EngineAddress(server)}, do)
		switch outcomeOf(err) {
		case settled:
			if err == nil && server != affinity {
				p.routes.update(volume, session, func(s *routeState) { s.affinity = server })
			}
			return true, err
		case failedThere:
			served = true
		case notThere:
		}
		if ctx.Err() != nil {
			return true, err
		}
	}
	return served, err
}

type outcome int

const (
	settled     outcome = iota // another engine could do no better
	failedThere                // this one serves the volume, and another may do better
	notThere                   // this one does not serve the volume, or cannot be reached
)

func outcomeOf(err error) outcome {
	status, ok := errors.AsType[*rde.Error](err)
	if !ok {
		return settled // done, or not the engine's word: a range, a manifest, …
	}
	switch status.Status {
	case rde.StatusIoError, rde.StatusObjectCorrupt, rde.StatusVolumeChanging:
		return failedThere
	case rde.StatusVolumeNotFound, rde.StatusVolumeCorrupt, rde.StatusVolumeRemote:
		return notThere
	case rde.StatusEngineGone, rde.StatusDetached, rde.StatusObjectNotFound:
		return settled
	}
	switch status.Status.Category() {
	case "network", "security", "rdma":
		return notThere
	default:
		return settled
	}
}

// atPeer opens the peer and does the request there; a handle that went stale is opened anew, once.
func (p *Path) atPeer(ctx context.Context, volume uint32, to target, do func(target) error) error {
	for again := false; ; again = true {
		peer, err := to.session.Peer(ctx, to.address)
		if err != nil {
			return err
		}
		to.peer = peer
		err = do(to)
		if (errors.Is(err, rde.StatusStaleHandle) || errors.Is(err, rde.StatusInvalidHandle)) && !again {
			to.session.Drop(to.address, peer)
			continue
		}
		return p.settle(ctx, volume, to, err)
	}
}

// settle draws the lessons from an outcome for the reads to come.
func (p *Path) settle(ctx context.Context, volume uint32, to target, err error) error {
	status := statusOf(err)
	switch {
	case err == nil:
		if p.routes.get(volume, to.session).lasted != 0 {
			p.routes.update(volume, to.session, func(s *routeState) { s.lasted = 0 })
		}
	case ctx.Err() != nil: // the caller's own end says nothing
	case status == rde.StatusPeerDown, status == rde.StatusPeerUnreachable, status == rde.StatusNetworkTimeout,
		status == rde.StatusDeadlineExceeded, errors.Is(err, context.DeadlineExceeded):
		if status != rde.StatusPeerDown && status != rde.StatusPeerUnreachable {
			to.session.Suspect()
		}
		if to.address != "" {
			to.session.Rest(to.address, err)
		} else {
			p.routes.update(volume, to.session, (*routeState).rest)
		}
	}
	return err
}

func statusOf(err error) rde.Status {
	if e, ok := errors.AsType[*rde.Error](err); ok {
		return e.Status
	}
	return rde.StatusOk
}
