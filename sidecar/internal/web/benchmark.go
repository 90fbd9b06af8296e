package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/readauth"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/reader"
)

const (
	mostIterations    = 100_000
	mostConcurrency   = 64
	largestBenchmark  = 64 << 20         // bytes of the object
	longestBenchmark  = 60 * time.Second // then it ends with what it has
	defaultIterations = 100
)

// benchmark answers GET /benchmark: it reads an object again and again, compares every byte, and gives the times.
func (s *Server) benchmark(w http.ResponseWriter, r *http.Request) {
	if !s.busy.CompareAndSwap(false, true) {
		s.fail(w, r, &object.Failure{Code: http.StatusTooManyRequests, RetryAfter: "10", Text: "a benchmark is running already; wait for its end"})
		return
	}
	defer s.busy.Store(false)
	run, err := s.prepare(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), longestBenchmark)
	defer cancel()
	begun := time.Now()
	run.all(ctx)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.options.Timeout))
	s.json(w, http.StatusOK, run.report(time.Since(begun)))
}

// benchmarkRun is one benchmark.
type benchmarkRun struct {
	reader      *reader.Reader
	request     reader.Request
	reference   []byte // what every read must give
	checked     bool   // the reference has the CRC that the object's record says
	iterations  int64
	concurrency int

	next   atomic.Int64
	mutex  sync.Mutex
	times  []time.Duration // of verified reads
	engine int
	errors []string
	failed int
}

func (s *Server) prepare(r *http.Request) (*benchmarkRun, error) {
	params, err := parseRead(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	iterations, err := number(r.URL.Query(), "iterations", mostIterations)
	if err != nil {
		return nil, err
	}
	concurrency, err := number(r.URL.Query(), "concurrency", mostConcurrency)
	if err != nil {
		return nil, err
	}
	if iterations == 0 {
		iterations = defaultIterations
	}
	if params.server != "" {
		if err := s.options.Servers.Permit(r.Context(), params.server, params.id.Volume); err != nil {
			return nil, err
		}
	}
	token := readauth.TokenOf(r)
	if err := s.options.Auth.Check(token, params.named); err != nil {
		return nil, err
	}
	run := &benchmarkRun{reader: s.options.Reader, iterations: int64(iterations), concurrency: int(max(concurrency, 1)),
		request: reader.Request{Want: object.Want{ID: params.id}, Preferred: params.server, Token: token}}
	meta, source, err := s.options.Reader.Stat(r.Context(), run.request)
	if err != nil {
		return nil, err
	}
	if meta.Size > largestBenchmark {
		return nil, badRequest("file_id %s has %d bytes; a benchmark takes objects of at most %d", params.id, meta.Size, largestBenchmark)
	}
	whole, _, err := run.read(r.Context(), nil)
	if err != nil {
		return nil, err
	}
	// The ETag is the CRC-32C of what is stored. Only the engine tells whether that is what a reader sees.
	if source == object.FromEngine && !meta.Gzip && !meta.Manifest {
		if sum := fmt.Sprintf("%08x", crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli))); sum != meta.ETag {
			return nil, &object.Failure{Code: http.StatusBadGateway, Text: fmt.Sprintf("file_id %s: the bytes have CRC-32C %s, the ETag is %s", params.id, sum, meta.ETag)}
		}
		run.checked = true
	}
	run.request.Want.Offset, run.request.Want.Length = params.offset, params.size
	length, err := run.request.Want.Clip(uint64(len(whole)))
	if err != nil {
		return nil, err
	}
	run.reference = whole[params.offset : params.offset+length]
	return run, nil
}

// read reads once. With a reference the bytes are compared, without one they are given.
func (b *benchmarkRun) read(ctx context.Context, reference []byte) (all []byte, source object.Source, err error) {
	answer, err := b.reader.Open(ctx, b.request)
	if err != nil {
		return nil, "", err
	}
	defer answer.Close()
	if reference == nil && answer.Length > largestBenchmark {
		return nil, "", badRequest("the object has %d bytes; a benchmark takes objects of at most %d", answer.Length, largestBenchmark)
	}
	if reference != nil && answer.Length != uint64(len(reference)) {
		return nil, "", fmt.Errorf("length %d, want %d", answer.Length, len(reference))
	}
	at := 0
	for {
		part, err := answer.Body.Next(ctx)
		if errors.Is(err, io.EOF) {
			return all, answer.Source, nil
		}
		if err != nil {
			return nil, "", err
		}
		if reference == nil {
			all = append(all, part...)
			continue
		}
		if !bytes.Equal(part, reference[at:at+len(part)]) {
			return nil, "", fmt.Errorf("wrong bytes at offset %d", at)
		}
		at += len(part)
	}
}

func (b *benchmarkRun) all(ctx context.Context) {
	var workers sync.WaitGroup
	if b.reference == nil {
		b.reference = []byte{}
	}
	for range b.concurrency {
		workers.Go(func() {
			for ctx.Err() == nil && b.next.Add(1) <= b.iterations {
				begun := time.Now()
				_, source, err := b.read(ctx, b.reference)
				b.note(time.Since(begun), source, err)
			}
		})
	}
	workers.Wait()
}

func (b *benchmarkRun) note(took time.Duration, source object.Source, err error) {
	const shown = 5
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err != nil {
		b.failed++
		if len(b.errors) < shown {
			b.errors = append(b.errors, err.Error())
		}
		return
	}
	b.times = append(b.times, took)
	if source == object.FromEngine {
		b.engine++
	}
}

func (b *benchmarkRun) report(took time.Duration) map[string]any {
	slices.Sort(b.times)
	at := func(fraction float64) int64 {
		if len(b.times) == 0 {
			return 0
		}
		return b.times[min(len(b.times)-1, int(math.Ceil(fraction*float64(len(b.times))))-1)].Nanoseconds()
	}
	var sum time.Duration
	for _, t := range b.times {
		sum += t
	}
	report := map[string]any{
		"file_id": b.request.Want.ID.String(), "size": len(b.reference), "iterations": b.iterations, "concurrency": b.concurrency,
		"verified": len(b.times), "failed": b.failed, "rdma_reads": b.engine, "http_reads": len(b.times) - b.engine,
		"reference_checked": b.checked,
		"total_ns":          took.Nanoseconds(), "errors": b.errors,
	}
	if len(b.times) > 0 {
		report["latency_ns"] = map[string]any{"min": b.times[0].Nanoseconds(), "p50": at(0.5), "p90": at(0.9), "p95": at(0.95), "p99": at(0.99),
			"p999": at(0.999), "max": b.times[len(b.times)-1].Nanoseconds(), "mean": (sum / time.Duration(len(b.times))).Nanoseconds()}
		report["reads_per_second"] = float64(len(b.times)) / took.Seconds()
		report["bytes_per_second"] = float64(len(b.times)) * float64(len(b.reference)) / took.Seconds()
	}
	return report
}
