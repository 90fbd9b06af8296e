// Package reader reads objects by the engine where it can and over HTTP where it must.
//
//	answer, err := r.Open(ctx, reader.Request{Want: object.Want{ID: id}})
//	defer answer.Close()
package reader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginepath"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/httppath"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/metrics"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/readauth"
)

// Options of a Reader. Engine is nil where the engine is not to be used; all others are required.
type Options struct {
	Engine  *enginepath.Path
	HTTP    *httppath.Path
	Auth    *readauth.Checker
	Metrics *metrics.Metrics
	Timeout time.Duration // until the first byte, and again until an interrupted answer goes on
	Logger  *slog.Logger
}

// Request is one read.
type Request struct {
	Want      object.Want
	Preferred cluster.Server // "" = none; permitted already
	Token     string         // checked already
}

// Reader reads. For many goroutines.
type Reader struct{ options Options }

// New gives a reader.
func New(options Options) *Reader { return &Reader{options} }

var errTimeout = errors.New("the time of the request is over (--timeout)")

// opening gives a context that ends after the timeout, unless settled is called before.
func (r *Reader) opening(parent context.Context) (ctx context.Context, settled func(), cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	timer := time.AfterFunc(r.options.Timeout, func() { end(errTimeout) })
	return ctx, func() { timer.Stop() }, func() { timer.Stop(); end(context.Canceled) }
}

// Stat gives an object's metadata, and which path knew it.
func (r *Reader) Stat(parent context.Context, request Request) (object.Meta, object.Source, error) {
	ctx, _, cancel := r.opening(parent)
	defer cancel()
	id := request.Want.ID
	begun := time.Now()
	engineErr := r.engineReady(ctx, request)
	if engineErr == nil {
		var meta object.Meta
		if meta, engineErr = r.options.Engine.Stat(ctx, request.Preferred, id); engineErr == nil {
			r.options.Metrics.Operation("stat", "success", time.Since(begun))
			return meta, object.FromEngine, nil
		}
	}
	r.fellBack("stat", id, engineErr)
	meta, err := r.options.HTTP.Stat(ctx, from(request), id)
	return meta, object.FromHTTP, r.judge(ctx, id, err, engineErr)
}

// Open opens a part of an object. Its first bytes are at hand, and its body goes on by another path where one
// fails in the middle. The answer's Source is that of the first byte.
func (r *Reader) Open(parent context.Context, request Request) (*object.Answer, error) {
	begun := time.Now()
	ctx, settled, cancel := r.opening(parent)
	answer, err := r.open(ctx, request)
	settled()
	if err != nil {
		cancel()
		return nil, err
	}
	if answer.Declined {
		r.options.Metrics.Declined()
		cancel()
		return answer, nil
	}
	if answer.Source == object.FromEngine {
		r.options.Metrics.ReadBegun()
	}
	answer.Body = &resumable{reader: r, request: request, meta: answer.Meta, inner: answer.Body, source: answer.Source,
		first: answer.Source, at: answer.Offset, end: answer.Offset + answer.Length, ctx: ctx, cancel: cancel, begun: begun,
		whole: answer.Source == object.FromEngine && !packed(answer.Meta) && answer.Length == answer.Meta.Size}
	return answer, nil
}

func (r *Reader) open(ctx context.Context, request Request) (*object.Answer, error) {
	engineErr := r.engineReady(ctx, request)
	if engineErr == nil {
		var answer *object.Answer
		if answer, engineErr = r.options.Engine.Open(ctx, request.Preferred, request.Want); engineErr == nil {
			return answer, nil
		}
		if object.IsCertain(engineErr) {
			return nil, engineErr
		}
	}
	r.fellBack("read", request.Want.ID, engineErr)
	answer, err := r.options.HTTP.Open(ctx, from(request), request.Want)
	return answer, r.judge(ctx, request.Want.ID, err, engineErr)
}

var (
	errOff    = errors.New("the engine is not enabled (--enable-rdma)")
	errTokens = errors.New("the volume servers want read tokens, and there is no --jwt-read-key-file to check them by")
)

// engineReady says why the engine may not serve a request; nil where it may.
func (r *Reader) engineReady(ctx context.Context, request Request) error {
	if r.options.Engine == nil {
		return errOff
	}
	if !r.options.Engine.Attached() {
		return enginepath.ErrAway
	}
	if !r.options.Auth.EngineAllowed(ctx, request.Want.ID.Volume, request.Preferred) {
		return errTokens
	}
	return nil
}

func from(request Request) httppath.From {
	return httppath.From{Preferred: request.Preferred, Token: request.Token}
}

func (r *Reader) fellBack(kind string, id rde.FileID, why error) {
	if errors.Is(why, errOff) {
		return
	}
	r.options.Metrics.Fallback(kind, reason(why))
	r.options.Logger.Debug("the engine did not serve; asking a volume server", "file_id", id, "error", why)
}

// reason is a short label for metrics, from a set that does not grow.
func reason(err error) string {
	for label, known := range map[string]error{
		"away": enginepath.ErrAway, "resting": enginepath.ErrResting,
		"changed": enginepath.ErrChanged, "unverified": enginepath.ErrUnverified, "tokens": errTokens,
	} {
		if errors.Is(err, known) {
			return label
		}
	}
	if status, ok := errors.AsType[*rde.Error](err); ok {
		return status.Status.String()
	}
	return "other"
}

// judge joins what both paths said, where the second failed too.
func (r *Reader) judge(ctx context.Context, id rde.FileID, err, engineErr error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &object.Failure{Code: http.StatusGatewayTimeout, Cause: context.Cause(ctx),
			Text: fmt.Sprintf("file_id %s: no answer in time", id)}
	case !errors.Is(err, httppath.ErrNoServer):
		return err
	}
	failure := &object.Failure{Code: http.StatusServiceUnavailable, RetryAfter: "1", Cause: errors.Join(engineErr, err),
		Text: fmt.Sprintf("file_id %s: the engine did not serve it, and no volume server is known", id)}
	if status, ok := errors.AsType[*rde.Error](engineErr); ok {
		switch {
		case status.Status == rde.StatusObjectNotFound:
			failure = &object.Failure{Code: http.StatusNotFound, Certain: true, Cause: engineErr, Text: fmt.Sprintf("file_id %s: there is no such object", id)}
		case status.Status == rde.StatusVolumeNotFound:
			failure = &object.Failure{Code: http.StatusNotFound, Cause: engineErr, Text: fmt.Sprintf("file_id %s: nobody known has volume %d", id, id.Volume)}
		case !status.Status.Retry():
			failure.Code, failure.RetryAfter = http.StatusBadGateway, ""
		}
	}
	return failure
}
