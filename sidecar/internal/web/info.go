package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

const quickTimeout = 500 * time.Millisecond // of questions whose answer is only shown

// health answers GET /health: 503 only where no read could be served at all.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	state := map[string]any{"enabled": s.options.Manager != nil, "connected": false, "type": "none"}
	session := s.session()
	if session != nil {
		state["connected"] = true
		state["type"] = "unknown"
		ctx, cancel := context.WithTimeout(r.Context(), quickTimeout)
		defer cancel()
		if known, err := session.Capabilities(ctx); err == nil {
			state["type"], state["real_rdma"] = known.Transport, known.RealRDMA
		}
	} else if s.options.Manager != nil {
		state["error"] = s.options.Manager.LastError().Error()
	}
	answer := map[string]any{"status": "healthy", "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "rdma": state}
	code := http.StatusOK
	if session == nil && !s.options.Servers.HasAny() {
		code = http.StatusServiceUnavailable
		answer["status"] = "unhealthy"
		answer["error"] = "no engine is attached, and no volume server is known: give --master, --volume-server or --allow-volume-server"
	}
	s.json(w, code, answer)
}

// stats answers GET /stats.
func (s *Server) stats(w http.ResponseWriter, _ *http.Request) {
	sums := s.options.Metrics.Stats()
	ratio := 0.0
	if sums.TotalReads > 0 {
		ratio = math.Round(10000*float64(sums.EngineReads)/float64(sums.TotalReads)) / 100
	}
	s.json(w, http.StatusOK, map[string]any{
		"enabled": s.options.Manager != nil, "connected": s.session() != nil, "volume_server_url": string(s.options.Servers.Fixed),
		"rdma_socket_path": s.options.Socket, "total_reads": sums.TotalReads, "rdma_reads": sums.EngineReads,
		"http_fallbacks": sums.HTTPReads, "rdma_ratio_pct": ratio, "total_bytes_read": sums.TotalBytes,
		"avg_latency_ns": sums.AverageLatency.Nanoseconds(), "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		"uptime_seconds": int64(time.Since(s.started).Seconds()), "version": s.options.Version,
	})
}

// attached gives the engine, or the failure that says why there is none.
func (s *Server) attached() (*engine.Session, error) {
	if session := s.session(); session != nil {
		return session, nil
	}
	cause := errors.New("it is not enabled (--enable-rdma)")
	if s.options.Manager != nil {
		cause = s.options.Manager.LastError()
	}
	return nil, &object.Failure{Code: http.StatusServiceUnavailable, RetryAfter: "1", Text: "no engine is attached", Cause: cause}
}

// ping answers GET /rdma/ping.
func (s *Server) ping(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	session, err := s.attached()
	var pong engine.Ping
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), s.options.Timeout)
		defer cancel()
		pong, err = session.Client.Ping(ctx)
	}
	took := time.Since(begun)
	if err != nil {
		s.options.Metrics.Operation("ping", "error", took)
		s.json(w, http.StatusServiceUnavailable, map[string]any{"success": false, "error": err.Error(), "total_latency": took.String()})
		return
	}
	s.options.Metrics.Operation("ping", "success", took)
	s.json(w, http.StatusOK, map[string]any{"success": true, "engine_latency": pong.RTT.String(), "engine_latency_ns": pong.RTT.Nanoseconds(),
		"total_latency": took.String(), "total_latency_ns": took.Nanoseconds()})
}

// capabilities answers GET /rdma/capabilities, asked for anew: the counts in it move.
func (s *Server) capabilities(w http.ResponseWriter, r *http.Request) {
	session, err := s.attached()
	var known engine.Capabilities
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), s.options.Timeout)
		defer cancel()
		if known, err = session.Client.Capabilities(ctx); err != nil {
			err = &object.Failure{Code: http.StatusServiceUnavailable, RetryAfter: "1", Text: "the engine did not say what it can do", Cause: err}
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	auth := "none"
	if s.options.Auth.HasKey() {
		auth = "jwt"
	}
	s.json(w, http.StatusOK, map[string]any{
		"version": known.Version, "device_name": known.Device, "vendor_id": known.VendorID, "max_sessions": known.MaxSessions,
		"max_transfer_size": known.MaxTransfer, "active_sessions": known.ActiveSessions, "real_rdma": known.RealRDMA,
		"port_gid": known.PortGID, "port_lid": known.PortLID, "supported_auth": []string{auth},
		"transport": known.Transport, "peers": known.Peers, "volumes": known.Volumes,
	})
}
