// Command ring-bench-go measures round trips of the Go client for ring-bench.
//
//	ring-bench-go --socket PATH --cpu 0 --milliseconds 400
//	ring-bench-go --socket PATH --object 1,0100005eed --bytes 268435456 --goroutines 10000 --channels 4
//	ring-bench-go --url http://127.0.0.1:8081/read?file_id=3,01637037d6 --want X-Source=rdma
//	ring-bench-go --serve FOLDER
//
// It prints {"samples":[…]}: nanoseconds a NOP round trip, each the mean of 256 in a row (of 8 with --busy); or microseconds of each GET; or
// of each read of 4 KiB by one of many goroutines, with their "rate", the "threads" of the process, and the "fewest" reads of
// one goroutine. With --park a caller sleeps until its answer comes, beside so many goroutines that compute as --busy says. With
// --serve it is a plain HTTP server, prints "ready http=HOST:PORT", and serves until it is ended.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"golang.org/x/sys/unix"
)

// Round trips of a sample; fewer where each may wait for other goroutines to be preempted.
const (
	batch     = 256
	busyBatch = 8
)

// Exit codes, as of every tool here.
const (
	badUsage      = 2
	couldNotStart = 3
)

type options struct {
	socket       string
	cpu          int
	milliseconds int
	serve        string
	url          string
	byteRange    string
	want         string
	bytes        int64
	object       string
	goroutines   int
	channels     int
	busy         int
	park         bool
	patience     time.Duration
}

func parse(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("ring-bench-go", flag.ContinueOnError)
	flags.StringVar(&o.socket, "socket", "/run/rdma-engine/attach.sock", "attach socket of the engine")
	flags.IntVar(&o.cpu, "cpu", -1, "processor to run on; -1: any")
	flags.IntVar(&o.milliseconds, "milliseconds", 400, "how long")
	flags.StringVar(&o.serve, "serve", "", "folder to serve by HTTP, instead of measuring")
	flags.StringVar(&o.url, "url", "", "what to GET, instead of a NOP")
	flags.StringVar(&o.byteRange, "range", "", "FIRST-LAST byte of a GET")
	flags.StringVar(&o.want, "want", "", "NAME=VALUE of a header that each answer must have")
	flags.Int64Var(&o.bytes, "bytes", 0, "that each answer must have, 0: any; of the object that is read")
	flags.StringVar(&o.object, "object", "", "what to read, instead of a NOP")
	flags.IntVar(&o.goroutines, "goroutines", 1, "that read at once")
	flags.IntVar(&o.channels, "channels", 1, "of the client")
	flags.IntVar(&o.busy, "busy", 0, "goroutines that compute meanwhile")
	flags.BoolVar(&o.park, "park", false, "sleep until an answer comes, instead of polling for it first")
	flags.DurationVar(&o.patience, "patience", 0, "for the first GET that is as it must be")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q is not known", flags.Arg(0))
	}
	for name, value := range map[string]int{"milliseconds": o.milliseconds, "goroutines": o.goroutines, "channels": o.channels} {
		if value < 1 {
			return o, fmt.Errorf("--%s %d: want at least 1", name, value)
		}
	}
	return o, nil
}

// pin keeps the calling goroutine on one processor.
func pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("--cpu %d: %w", cpu, err)
	}
	return nil
}

// measure answers one sample for each batch of round trips.
func measure(ctx context.Context, client *rde.Client, length time.Duration, batch int) ([]float64, error) {
	samples := make([]float64, 0, 1<<16)
	end := time.Now().Add(length)
	for start := time.Now(); start.Before(end); {
		for range batch {
			if err := client.Nop(ctx); err != nil {
				return nil, err
			}
		}
		now := time.Now()
		samples = append(samples, float64(now.Sub(start).Nanoseconds())/float64(batch))
		start = now
	}
	return samples, nil
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.serve != "" {
		return serve(ctx, o.serve, out)
	}
	if err := pin(o.cpu); err != nil {
		return err
	}
	result, err := take(ctx, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}

func take(ctx context.Context, o options) (map[string][]float64, error) {
	if o.url != "" {
		return named(get(ctx, o))
	}
	attach := rde.Options{Socket: o.socket, Channels: o.channels, Depth: 8, Name: "ring-bench-go"}
	if o.object != "" {
		attach.Depth = 256
	}
	if o.park {
		attach.SpinFor = -1
	}
	client, err := rde.Attach(ctx, attach)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	if o.object != "" {
		return many(ctx, client, o)
	}
	busy, stop := context.WithCancel(ctx)
	defer stop()
	keepBusy(busy, o.busy)
	trips := batch
	if o.busy > 0 {
		trips = busyBatch
	}
	const warm = 10 * time.Millisecond
	if _, err := measure(ctx, client, warm, trips); err != nil {
		return nil, err
	}
	return named(measure(ctx, client, time.Duration(o.milliseconds)*time.Millisecond, trips))
}

func named(samples []float64, err error) (map[string][]float64, error) {
	return map[string][]float64{"samples": samples}, err
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "ring-bench-go:", err)
		os.Exit(badUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ring-bench-go:", err)
		os.Exit(couldNotStart)
	}
}
