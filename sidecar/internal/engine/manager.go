package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Manager. Attach is required; a zero duration takes its default.
type Options struct {
	Attach         func(ctx context.Context) (Client, error)
	AttachTimeout  time.Duration // of one attempt; default 5 s
	FirstBackOff   time.Duration // after the first failure; doubles; default 50 ms
	LongestBackOff time.Duration // default 5 s
	PingTimeout    time.Duration // an engine that does not answer a ping within it is frozen; default 1 s
	ConnectTimeout time.Duration // of opening a peer; default 1 s
	Logger         *slog.Logger
	OnAttach       func() // called at each attach; may be nil
}

// Manager attaches, and attaches anew when the engine went away.
type Manager struct {
	options Options
	current atomic.Pointer[Session]
	mutex   sync.Mutex
	lastErr error
}

// NewManager gives a manager that is not attached yet: call Run.
func NewManager(options Options) *Manager {
	defaults := func(value *time.Duration, otherwise time.Duration) {
		if *value <= 0 {
			*value = otherwise
		}
	}
	defaults(&options.AttachTimeout, 5*time.Second)
	defaults(&options.FirstBackOff, 50*time.Millisecond)
	defaults(&options.LongestBackOff, 5*time.Second)
	defaults(&options.PingTimeout, time.Second)
	defaults(&options.ConnectTimeout, time.Second)
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{options: options, lastErr: errors.New("not attached yet")}
}

// Current is the attached engine, or nil: away, or frozen.
func (m *Manager) Current() *Session {
	session := m.current.Load()
	if session == nil || session.frozen.Load() {
		return nil
	}
	select {
	case <-session.Client.Done():
		return nil
	default:
		return session
	}
}

// LastError is why there is no engine; nil while there is one.
func (m *Manager) LastError() error {
	if m.Current() != nil {
		return nil
	}
	if session := m.current.Load(); session != nil && session.frozen.Load() {
		return errors.New("the engine does not answer; it may be stopped or overloaded")
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.lastErr
}

const goodLife = time.Second // an engine that lived so long is attached anew at once

// Run attaches again and again until ctx ends, and closes what it attached. Call it once.
func (m *Manager) Run(ctx context.Context) {
	backOff := m.options.FirstBackOff
	var reported string
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, m.options.AttachTimeout)
		client, err := m.options.Attach(attempt)
		cancel()
		if err == nil {
			m.options.Logger.Info("attached to the engine")
			attached := time.Now()
			m.serve(ctx, client)
			if time.Since(attached) > goodLife {
				backOff = m.options.FirstBackOff
			}
			reported = ""
		} else {
			m.setError(err)
			// A reason is logged when it is new, not at each attempt.
			if text := err.Error(); text != reported && ctx.Err() == nil {
				m.options.Logger.Warn("no engine; reads go over HTTP until it can be attached", "error", text)
				reported = text
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(backOff/2 + rand.N(backOff)):
		}
		backOff = min(2*backOff, m.options.LongestBackOff)
	}
}

// serve publishes the session until the engine is gone or ctx ends.
func (m *Manager) serve(ctx context.Context, client Client) {
	session := newSession(ctx, client, m.options)
	m.current.Store(session)
	if m.options.OnAttach != nil {
		m.options.OnAttach()
	}
	select {
	case <-client.Done():
		err := client.Err()
		if err == nil {
			err = errors.New("the engine closed the connection")
		}
		m.setError(err)
		m.options.Logger.Warn("the engine is gone; attaching anew", "error", err)
	case <-ctx.Done():
		m.setError(ctx.Err())
	}
	m.current.CompareAndSwap(session, nil)
	session.stop()
	if err := client.Close(); err != nil {
		m.options.Logger.Debug("closing the engine", "error", err)
	}
}

func (m *Manager) setError(err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.lastErr = err
}
