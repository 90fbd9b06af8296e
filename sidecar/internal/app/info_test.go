package app

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
)

func (r *rig) json(path string, code int) map[string]any {
	r.Helper()
	got := r.get(path)
	var value map[string]any
	if err := json.Unmarshal(got.body, &value); err != nil || got.code != code {
		r.Fatalf("%s: got %d %s, want %d", path, got.code, got.body, code)
	}
	return value
}

func has(t *testing.T, value map[string]any, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, ok := value[key]; !ok {
			t.Errorf("%s is missing in %v", key, value)
		}
	}
}

func TestWhatOutsidersReadIsThere(t *testing.T) {
	r := newRig(t, config.Config{}, enginetest.New(testVolume(t)))
	health := r.json("/health", http.StatusOK)
	has(t, health, "status", "timestamp", "rdma")
	rdma, _ := health["rdma"].(map[string]any)
	if health["status"] != "healthy" || rdma["enabled"] != true || rdma["connected"] != true || rdma["type"] != "sim" {
		t.Errorf("health %v", health)
	}
	has(t, r.json("/stats", http.StatusOK), "enabled", "connected", "volume_server_url", "rdma_socket_path", "total_reads", "rdma_reads",
		"http_fallbacks", "rdma_ratio_pct", "total_bytes_read", "avg_latency_ns", "timestamp")
	has(t, r.json("/rdma/capabilities", http.StatusOK), "version", "device_name", "vendor_id", "max_sessions", "max_transfer_size",
		"active_sessions", "real_rdma", "port_gid", "port_lid", "supported_auth")
	ping := r.json("/rdma/ping", http.StatusOK)
	has(t, ping, "success", "engine_latency", "total_latency")
	if ping["success"] != true {
		t.Errorf("ping %v", ping)
	}
	if page := r.get("/"); page.code != http.StatusOK || !strings.Contains(string(page.body), "attached") {
		t.Errorf("page: got %d", page.code)
	}
	if got := r.get("/nothing"); got.code != http.StatusNotFound {
		t.Errorf("an unknown path: got %d", got.code)
	}
}

func TestWithoutEnginePingAndCapabilitiesSayWhy(t *testing.T) {
	r := newRig(t, config.Config{}, nil)
	if ping := r.json("/rdma/ping", http.StatusServiceUnavailable); ping["success"] != false || ping["error"] == "" {
		t.Errorf("ping %v", ping)
	}
	has(t, r.json("/rdma/capabilities", http.StatusServiceUnavailable), "error")
}

func TestStatsMove(t *testing.T) {
	dir := testVolume(t)
	r := both(t, enginetest.New(dir), dir)
	r.get("/read?file_id=" + smallID)
	stats := r.json("/stats", http.StatusOK)
	if stats["total_reads"] != 1.0 || stats["rdma_reads"] != 1.0 || stats["total_bytes_read"] != 5000.0 || stats["rdma_ratio_pct"] != 100.0 || stats["avg_latency_ns"] == 0.0 {
		t.Errorf("stats %v", stats)
	}
}

func TestMetricsAreInTheTextFormOfPrometheus(t *testing.T) {
	dir := testVolume(t)
	r := both(t, enginetest.New(dir), dir)
	r.get("/read?file_id=" + smallID)
	r.get("/rdma/ping")
	got := r.get("/metrics")
	if !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		t.Errorf("Content-Type %q", got.header.Get("Content-Type"))
	}
	for _, line := range []string{
		`# TYPE rdma_operations_total counter`, `rdma_operations_total{result="success",type="read"} 1`, `rdma_operations_total{result="success",type="ping"} 1`,
		`# TYPE rdma_operation_duration_seconds histogram`, `rdma_operation_duration_seconds_count{type="read"} 1`,
		`# TYPE rdma_sessions_active gauge`, `rdma_sessions_active 0`, `rdma_bytes_transferred_total{direction="read"} 5000`,
		`mount_tail_declined_total 0`, `engine_connected 1`, `engine_attaches_total 1`,
	} {
		if !strings.Contains(string(got.body), line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
}

func TestABenchmarkVerifiesWhatItReads(t *testing.T) {
	dir := testVolume(t)
	r := both(t, enginetest.New(dir), dir)
	for _, query := range []string{"file_id=" + smallID, "file_id=" + packedID + "&size=100&offset=5", "file_id=" + emptyID} {
		report := r.json("/benchmark?iterations=20&concurrency=3&"+query, http.StatusOK)
		if report["verified"] != 20.0 || report["failed"] != 0.0 || report["rdma_reads"] != 20.0 {
			t.Errorf("%s: %v", query, report)
		}
		has(t, report["latency_ns"].(map[string]any), "p50", "p99", "max")
	}
	has(t, r.json("/benchmark?iterations=20", http.StatusBadRequest), "error")
	has(t, r.json("/benchmark?iterations=1000000&file_id="+smallID, http.StatusBadRequest), "error")
}

func TestOnlyFilesOfOurOwnAreCleanedUp(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, config.Config{TempDir: dir}, enginetest.New(testVolume(t)))
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.do(http.MethodDelete, "/cleanup?temp_file="+foreign); got.code != http.StatusNotFound {
		t.Errorf("a foreign file: got %d", got.code)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
	got := r.get("/read?use_temp_file=true&file_id=" + smallID)
	path := got.header.Get("X-Temp-File")
	if got.header.Get("X-Use-Temp-File") != "true" || len(got.body) != 0 {
		t.Fatalf("headers %v", got.header)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != string(smallData) {
		t.Errorf("the file has %d bytes, %v", len(data), err)
	}
	if got := r.do(http.MethodDelete, "/cleanup?temp_file="+path); got.code != http.StatusOK {
		t.Errorf("our file: got %d %s", got.code, got.body)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if got := r.do(http.MethodDelete, "/cleanup"); got.code != http.StatusBadRequest {
		t.Errorf("no file: got %d", got.code)
	}
}

func TestFilesAreHandedOutOnlyToThoseWhoAsk(t *testing.T) {
	r := newRig(t, config.Config{TempDir: t.TempDir()}, enginetest.New(testVolume(t)))
	r.want(r.get("/read?file_id="+smallID), http.StatusOK, "rdma", smallData)
	r = newRig(t, config.Config{}, enginetest.New(testVolume(t)))
	r.want(r.get("/read?use_temp_file=true&file_id="+smallID), http.StatusOK, "rdma", smallData)
}
