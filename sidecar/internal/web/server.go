// Package web is the HTTP face of the sidecar.
//
//	server := web.New(web.Options{Reader: reader, Manager: manager, …})
//	defer server.Close()
//	http.Serve(listener, server)
package web

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/metrics"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/readauth"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/reader"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/tempdir"
)

// Options of a Server. All are required but Manager, which is nil where the engine is not to be used, and TempDir.
type Options struct {
	Reader      *reader.Reader
	Manager     *engine.Manager
	Servers     *cluster.Servers
	Auth        *readauth.Checker
	Metrics     *metrics.Metrics
	Logger      *slog.Logger
	MountCompat bool
	Timeout     time.Duration // of engine questions, and of a client that takes no bytes
	TempDir     string        // "" = no files are handed out
	Socket      string        // attach socket, shown
	Version     string
}

// Server is an http.Handler.
type Server struct {
	options  Options
	mux      *http.ServeMux
	files    *tempFiles
	prefix   string // of ids, new at each start
	requests atomic.Uint64
	started  time.Time
	busy     atomic.Bool // a benchmark runs
}

// New gives a server. Close it to delete the files that it handed out.
func New(options Options) *Server {
	var random [6]byte
	_, _ = rand.Read(random[:])
	s := &Server{options: options, mux: http.NewServeMux(), prefix: hex.EncodeToString(random[:]), started: time.Now()}
	var folder *tempdir.Folder
	if options.TempDir != "" {
		if removed := tempdir.Sweep(options.TempDir); removed > 0 {
			options.Logger.Info("files of sidecars that were killed were removed", "temp_dir", options.TempDir, "files", removed)
		}
		folder = tempdir.New(options.TempDir)
	}
	s.files = newTempFiles(folder)
	s.mux.HandleFunc("GET /{$}", s.page)
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /stats", s.stats)
	s.mux.HandleFunc("GET /read", s.read(true))
	s.mux.HandleFunc("GET /rdma/read", s.read(false))
	s.mux.HandleFunc("GET /rdma/ping", s.ping)
	s.mux.HandleFunc("GET /rdma/capabilities", s.capabilities)
	s.mux.HandleFunc("GET /benchmark", s.benchmark)
	s.mux.HandleFunc("DELETE /cleanup", s.cleanup)
	s.mux.Handle("GET /metrics", options.Metrics.Handler())
	return s
}

// Close deletes the files that were handed out.
func (s *Server) Close() { s.files.Close() }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A deadline of the request before on this connection must not end this one.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2*s.options.Timeout + longestBenchmark))
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // no request has a body worth waiting for
	}
	s.mux.ServeHTTP(w, r)
}

// nextID names one request, here and in the log.
func (s *Server) nextID() string {
	return s.prefix + "-" + strconv.FormatUint(s.requests.Add(1), 16)
}

func (s *Server) json(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		s.options.Logger.Debug("an answer was not taken", "error", err)
	}
}

// session is the attached engine, or nil.
func (s *Server) session() *engine.Session {
	if s.options.Manager == nil {
		return nil
	}
	return s.options.Manager.Current()
}
