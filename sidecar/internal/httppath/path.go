// Package httppath reads objects from SeaweedFS volume servers over HTTP: the path that always works.
//
//	path := httppath.New(httppath.Options{Servers: servers, Client: httppath.NewClient(time.Second, time.Minute)})
//	answer, err := path.Open(ctx, httppath.From{Preferred: server}, object.Want{ID: id})
package httppath

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// ErrNoServer says that nobody is known who could be asked.
var ErrNoServer = errors.New("no volume server is known: give --volume-server, --master, or volume_server in the request")

// Options of a Path. Servers and Client are required.
type Options struct {
	Servers *cluster.Servers
	Client  *http.Client
	// OnToken is told whether a server that got no token asked for one; may be nil.
	OnToken func(server cluster.Server, wanted bool)
	// Slow is how long a server may take to begin its answer while another can be asked; default 2 s.
	Slow time.Duration
	// Stall is how long a body may stand still; default 10 s.
	Stall time.Duration
	// Patience bounds the waiting for a master that does not answer yet; default 5 s.
	Patience time.Duration
}

// From says who asks, and whom to ask first.
type From struct {
	Preferred cluster.Server // "" = none; must be permitted already
	Token     string         // JWT that is passed on; "" = none
}

// Path reads over HTTP. For many goroutines.
type Path struct{ options Options }

// New gives a path.
func New(options Options) *Path {
	defaults := func(value *time.Duration, otherwise time.Duration) {
		if *value <= 0 {
			*value = otherwise
		}
	}
	defaults(&options.Slow, 2*time.Second)
	defaults(&options.Stall, 10*time.Second)
	defaults(&options.Patience, 5*time.Second)
	return &Path{options: options}
}

// NewClient gives an HTTP client fit for volume servers and masters: it follows no redirect, unpacks nothing,
// uses no proxy, and gives up connecting soon.
func NewClient(connectTimeout, idle time.Duration) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:    connectTimeout,
			DisableCompression:     true,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        idle,
			MaxResponseHeaderBytes: 64 << 10,
			ReadBufferSize:         64 << 10,
		},
	}
}

// Stat asks for an object's metadata.
func (p *Path) Stat(ctx context.Context, from From, id rde.FileID) (object.Meta, error) {
	var meta object.Meta
	err := p.each(ctx, from, id, func(ctx context.Context, server cluster.Server, patience time.Duration) error {
		var err error
		meta, err = p.head(ctx, server, from, id, patience)
		return err
	})
	return meta, err
}

// Open opens a part of an object. Its body fails where the server stops in the middle; open the rest anew then.
func (p *Path) Open(ctx context.Context, from From, want object.Want) (*object.Answer, error) {
	var answer *object.Answer
	err := p.each(ctx, from, want.ID, func(ctx context.Context, server cluster.Server, patience time.Duration) error {
		var err error
		answer, err = p.get(ctx, server, from, want, patience)
		return err
	})
	return answer, err
}

type attemptFunc func(ctx context.Context, server cluster.Server, patience time.Duration) error

// each tries the servers one after the other until one gives an answer that no other could better. A "not found"
// or a redirect is believed only after the master was asked anew: the volume may have moved.
func (p *Path) each(ctx context.Context, from From, id rde.FileID, attempt attemptFunc) error {
	started := time.Now()
	servers, asked, lookupErr := p.options.Servers.Known(ctx, id.Volume, from.Preferred)
	search := search{path: p, id: id}
	if done, err := search.try(ctx, servers, attempt); done {
		return err
	}
	fresh := !asked.Before(started)
	for wait := 50 * time.Millisecond; !fresh && !errors.Is(lookupErr, cluster.ErrNoMaster); wait = min(2*wait, time.Second) {
		servers, lookupErr = p.options.Servers.Fresh(ctx, id.Volume, from.Preferred, started)
		if done, err := search.try(ctx, servers, attempt); done {
			return err
		}
		fresh = lookupErr == nil || errors.Is(lookupErr, cluster.ErrUnknownVolume)
		if fresh || time.Since(started)+wait > p.options.Patience {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if ctx.Err() != nil {
			break
		}
	}
	if search.notFound == nil && search.broken {
		// One hiccup of the last server that is left shall not fail a read.
		select {
		case <-ctx.Done():
		case <-time.After(secondTry):
		}
		again := search.asked
		search.asked = nil
		if done, err := search.try(ctx, again, attempt); done {
			return err
		}
	}
	return search.verdict(ctx, lookupErr)
}

const secondTry = 100 * time.Millisecond // after which servers that broke off are asked once more

// search is one hunt for an object.
type search struct {
	path     *Path
	id       rde.FileID
	asked    []cluster.Server
	notFound error
	failed   error
	broken   bool // a server could not be reached or broke off, which may pass
}

// try asks the servers that were not asked yet. done says that the outcome is final.
func (s *search) try(ctx context.Context, servers []cluster.Server, attempt attemptFunc) (done bool, err error) {
	var left []cluster.Server
	for _, server := range servers {
		if !slices.Contains(s.asked, server) {
			left = append(left, server)
		}
	}
	health := s.path.options.Servers.Health
	for i, server := range health.Order(left) {
		if ctx.Err() != nil {
			return true, deadline(ctx, s.id)
		}
		s.asked = append(s.asked, server)
		patience := time.Duration(0) // until the caller's deadline
		if i+1 < len(left) {
			patience = s.path.options.Slow
		}
		err := attempt(ctx, server, patience)
		if err == nil {
			health.Worked(server)
			return true, nil
		}
		failure, ok := errors.AsType[*object.Failure](err)
		switch {
		case ctx.Err() != nil:
			return true, deadline(ctx, s.id)
		case ok && failure.Code == http.StatusNotFound:
			health.Worked(server)
			s.notFound = err
		case ok && failure.Certain:
			health.Worked(server)
			return true, err
		case errors.Is(err, errElsewhere):
			health.Worked(server)
			s.failed = err
		default:
			health.Failed(server, err)
			s.path.options.Servers.Locator.Refresh(s.id.Volume)
			s.failed = err
			s.broken = s.broken || !ok
		}
	}
	return false, nil
}

func (s *search) verdict(ctx context.Context, lookupErr error) error {
	unsure := lookupErr != nil && !errors.Is(lookupErr, cluster.ErrNoMaster) && !errors.Is(lookupErr, cluster.ErrUnknownVolume)
	switch {
	case ctx.Err() != nil:
		return deadline(ctx, s.id)
	case s.notFound != nil && !unsure:
		return s.notFound
	case s.notFound != nil:
		return &object.Failure{Code: http.StatusBadGateway, Cause: lookupErr,
			Text: fmt.Sprintf("file_id %s: a volume server has it not, and the master could not be asked whether it moved", s.id)}
	case s.failed != nil:
		if failure, ok := errors.AsType[*object.Failure](s.failed); ok {
			return failure
		}
		return &object.Failure{Code: http.StatusBadGateway, Cause: s.failed,
			Text: fmt.Sprintf("file_id %s: every volume server failed", s.id)}
	case errors.Is(lookupErr, cluster.ErrUnknownVolume):
		return &object.Failure{Code: http.StatusNotFound, Certain: true, Cause: lookupErr,
			Text: fmt.Sprintf("file_id %s: volume %d is not found", s.id, s.id.Volume)}
	case lookupErr != nil && !errors.Is(lookupErr, cluster.ErrNoMaster):
		return &object.Failure{Code: http.StatusBadGateway, Cause: lookupErr,
			Text: fmt.Sprintf("file_id %s: the master could not be asked who has volume %d", s.id, s.id.Volume)}
	default:
		return ErrNoServer
	}
}

func deadline(ctx context.Context, id rde.FileID) error {
	return &object.Failure{Code: http.StatusGatewayTimeout, Cause: ctx.Err(),
		Text: fmt.Sprintf("file_id %s: no volume server answered in time", id)}
}
