package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

// Session is one attachment, with the peers that were opened over it. Peer handles die with it.
type Session struct {
	Client  Client
	options Options
	ctx     context.Context // ends with the session
	stop    context.CancelFunc
	frozen  atomic.Bool
	asking  atomic.Bool

	capabilities atomic.Pointer[Capabilities]

	mutex sync.Mutex
	peers map[string]*peerEntry // by engine address
}

type peerEntry struct {
	mutex   sync.Mutex // held while connecting, so that one connect serves all who wait
	handle  Peer
	retryAt time.Time
	backOff time.Duration
	err     error
}

func newSession(ctx context.Context, client Client, options Options) *Session {
	s := &Session{Client: client, options: options, peers: map[string]*peerEntry{}}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// Suspect is told that a request was not answered in time. It pings the engine, and takes it out of use
// while it does not answer at all.
func (s *Session) Suspect() {
	if !s.asking.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.asking.Store(false)
		wait := s.options.PingTimeout
		for s.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(s.ctx, s.options.PingTimeout)
			_, err := s.Client.Ping(ctx)
			cancel()
			if s.frozen.Swap(err != nil) != (err != nil) {
				s.options.Logger.Warn("the engine changed", "frozen", err != nil)
			}
			if err == nil {
				return
			}
			select {
			case <-s.ctx.Done():
			case <-s.Client.Done():
				return
			case <-time.After(wait):
			}
			wait = min(2*wait, s.options.LongestBackOff)
		}
	}()
}

// Capabilities gives what the engine said of itself, asked for once.
func (s *Session) Capabilities(ctx context.Context) (Capabilities, error) {
	if known := s.capabilities.Load(); known != nil {
		return *known, nil
	}
	asked, err := s.Client.Capabilities(ctx)
	if err == nil {
		s.capabilities.Store(&asked)
	}
	return asked, err
}

const (
	firstPeerBackOff   = time.Second
	longestPeerBackOff = 30 * time.Second
)

// Peer opens the engine at the address (HOST:PORT), or gives the handle that was opened before.
// An address that failed is not tried again before its back-off has passed.
func (s *Session) Peer(ctx context.Context, address string) (Peer, error) {
	entry := s.entry(address)
	entry.mutex.Lock()
	defer entry.mutex.Unlock()
	if entry.handle != 0 {
		return entry.handle, nil
	}
	if time.Now().Before(entry.retryAt) {
		return 0, fmt.Errorf("engine %s: resting after: %w", address, entry.err)
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout)
	defer cancel()
	handle, err := s.Client.Connect(bounded, address)
	if err == nil && handle == 0 {
		err = &rde.Error{Op: "connect", Status: rde.StatusEngineBroken, Text: "the peer handle is 0"}
	}
	if err != nil {
		// The caller's own end says nothing about the peer.
		if ctx.Err() == nil {
			entry.fail(err)
		}
		return 0, fmt.Errorf("engine %s: %w", address, err)
	}
	entry.handle = handle
	return handle, nil
}

// Drop forgets a handle that the engine no longer knows; the next Peer connects anew.
func (s *Session) Drop(address string, handle Peer) {
	entry := s.entry(address)
	entry.mutex.Lock()
	defer entry.mutex.Unlock()
	if entry.handle == handle {
		entry.handle = 0
	}
}

// Rest keeps an address whose requests fail out of use for a while.
func (s *Session) Rest(address string, err error) {
	entry := s.entry(address)
	entry.mutex.Lock()
	defer entry.mutex.Unlock()
	entry.handle = 0
	entry.fail(err)
}

func (s *Session) entry(address string) *peerEntry {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	entry := s.peers[address]
	if entry == nil {
		entry = &peerEntry{}
		s.peers[address] = entry
	}
	return entry
}

func (e *peerEntry) fail(err error) {
	now := time.Now()
	if now.After(e.retryAt.Add(2 * longestPeerBackOff)) {
		e.backOff = 0
	}
	e.backOff = min(max(2*e.backOff, firstPeerBackOff), longestPeerBackOff)
	e.retryAt = now.Add(e.backOff)
	e.err = err
}
