// Package metrics counts what the sidecar does, for Prometheus and for GET /stats.
//
//	m := metrics.New()
//	m.ReadDone(metrics.Read{Engine: true, EngineBytes: 4096, Took: time.Millisecond})
//	http.Handle("/metrics", m.Handler())
package metrics

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is safe for many goroutines.
type Metrics struct {
	registry   *prometheus.Registry
	operations *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	sessions   prometheus.Gauge
	bytes      *prometheus.CounterVec
	httpBytes  prometheus.Counter
	fallbacks  *prometheus.CounterVec
	resumed    *prometheus.CounterVec
	aborted    prometheus.Counter
	declined   prometheus.Counter
	attaches   prometheus.Counter
	lookups    *prometheus.CounterVec

	reads, engineReads, httpReads atomic.Uint64
	totalBytes, totalNanoseconds  atomic.Uint64
}

// New gives metrics with a registry of their own.
func New() *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		operations: vector("rdma_operations_total", "Operations tried over the engine, by result: success, fallback, error.", "type", "result"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rdma_operation_duration_seconds",
			Help: "From the request to the last byte, of operations that the engine served.", Buckets: prometheus.ExponentialBuckets(20e-6, 3, 14)}, []string{"type"}),
		sessions:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "rdma_sessions_active", Help: "Reads that the engine serves now."}),
		bytes:     vector("rdma_bytes_transferred_total", "Object bytes that the engine delivered.", "direction"),
		httpBytes: counter("http_bytes_transferred_total", "Object bytes that volume servers delivered over HTTP."),
		fallbacks: vector("http_fallbacks_total", "Reads that went to a volume server although the engine is enabled, by reason.", "reason"),
		resumed:   vector("reads_resumed_total", "Answers that went on by another path after their first byte.", "result"),
		aborted:   counter("reads_aborted_total", "Answers that were cut off because no path could go on with the same bytes."),
		declined:  counter("mount_tail_declined_total", "Reads of a mount that reach the end of their object and were left to the mount itself."),
		attaches:  counter("engine_attaches_total", "Times that the engine was attached."),
		lookups:   vector("master_lookups_total", "Questions to the master: found, unknown, failed.", "result"),
	}
	m.registry.MustRegister(m.operations, m.duration, m.sessions, m.bytes, m.httpBytes, m.fallbacks, m.resumed, m.aborted,
		m.declined, m.attaches, m.lookups, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Series that alerts are built on exist from the start.
	for _, result := range []string{"success", "fallback", "error"} {
		m.operations.WithLabelValues("read", result)
	}
	m.bytes.WithLabelValues("read")
	return m
}

// Watch adds gauges that are asked for when they are scraped.
func (m *Metrics) Watch(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Handler serves the metrics in the text form of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Read is one read that is over.
type Read struct {
	Engine      bool // the engine served its first byte
	EngineBytes uint64
	HTTPBytes   uint64
	Took        time.Duration
	Failed      bool
}

// ReadBegun counts a read that the engine serves; ReadDone ends it.
func (m *Metrics) ReadBegun() { m.sessions.Inc() }

// ReadDone counts a read that got an answer with bytes.
func (m *Metrics) ReadDone(read Read) {
	m.reads.Add(1)
	m.totalBytes.Add(read.EngineBytes + read.HTTPBytes)
	m.totalNanoseconds.Add(uint64(max(read.Took, 0)))
	m.bytes.WithLabelValues("read").Add(float64(read.EngineBytes))
	m.httpBytes.Add(float64(read.HTTPBytes))
	if !read.Engine {
		m.httpReads.Add(1)
		return
	}
	m.sessions.Dec()
	m.engineReads.Add(1)
	result := "success"
	if read.Failed {
		result = "error"
	}
	m.Operation("read", result, read.Took)
}

// Operation counts an operation that the engine was asked for.
func (m *Metrics) Operation(kind, result string, took time.Duration) {
	m.operations.WithLabelValues(kind, result).Inc()
	if result == "success" {
		m.duration.WithLabelValues(kind).Observe(took.Seconds())
	}
}

// Fallback counts a read that the engine should have served.
func (m *Metrics) Fallback(kind, reason string) {
	m.operations.WithLabelValues(kind, "fallback").Inc()
	m.fallbacks.WithLabelValues(reason).Inc()
}

// Resumed counts an answer that had to change its path after its first byte.
func (m *Metrics) Resumed(ok bool) {
	m.resumed.WithLabelValues(map[bool]string{true: "went_on", false: "failed"}[ok]).Inc()
}

// Aborted counts an answer that was cut off.
func (m *Metrics) Aborted() { m.aborted.Inc() }

// Declined counts a read that was left to the mount.
func (m *Metrics) Declined() { m.declined.Inc() }

// Attached counts an attach.
func (m *Metrics) Attached() { m.attaches.Inc() }

// Lookup counts a question to the master.
func (m *Metrics) Lookup(result string) { m.lookups.WithLabelValues(result).Inc() }

// Stats is what GET /stats shows.
type Stats struct {
	TotalReads, EngineReads, HTTPReads, TotalBytes uint64
	AverageLatency                                 time.Duration
}

// Stats gives the sums since the start.
func (m *Metrics) Stats() Stats {
	stats := Stats{TotalReads: m.reads.Load(), EngineReads: m.engineReads.Load(), HTTPReads: m.httpReads.Load(), TotalBytes: m.totalBytes.Load()}
	if stats.TotalReads > 0 {
		stats.AverageLatency = time.Duration(m.totalNanoseconds.Load() / stats.TotalReads)
	}
	return stats
}
