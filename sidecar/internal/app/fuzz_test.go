package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
)

// fuzzed is a sidecar without engine and volume server: it answers by itself.
var fuzzed = sync.OnceValue(func() http.Handler {
	c, err := config.Parse([]string{"--timeout", "1s", "--enable-rdma=false"}, io.Discard)
	if err != nil {
		panic(err)
	}
	return New(c, func(context.Context) (engine.Client, error) { return nil, io.EOF }, slog.New(slog.DiscardHandler)).Handler
})

// discard is a ResponseWriter that keeps the status.
type discard struct {
	header http.Header
	code   int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) Write(p []byte) (int, error) {
	if d.code == 0 {
		d.code = http.StatusOK
	}
	return len(p), nil
}

func (d *discard) WriteHeader(code int) { d.code = code }
