// Command ring-bench-go measures round trips of the Go client for ring-bench.
//
//	ring-bench-go --socket PATH --cpu 0 --milliseconds 400
//	ring-bench-go --url http://127.0.0.1:8081/read?file_id=3,01637037d6 --want X-Source=rdma
//	ring-bench-go --serve FOLDER
//
// It prints {"samples":[…]}: nanoseconds a NOP round trip, each the mean of 256 in a row; or microseconds of each GET. With
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

const batch = 256

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
	flags.Int64Var(&o.bytes, "bytes", 0, "that each answer must have; 0: any")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q is not known", flags.Arg(0))
	}
	if o.milliseconds < 1 {
		return o, fmt.Errorf("--milliseconds %d: want at least 1", o.milliseconds)
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
func measure(ctx context.Context, client *rde.Client, length time.Duration) ([]float64, error) {
	samples := make([]float64, 0, 1<<16)
	end := time.Now().Add(length)
	for start := time.Now(); start.Before(end); {
		for range batch {
			if err := client.Nop(ctx); err != nil {
				return nil, err
			}
		}
		now := time.Now()
		samples = append(samples, float64(now.Sub(start).Nanoseconds())/batch)
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
	samples, err := take(ctx, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(map[string][]float64{"samples": samples})
}

func take(ctx context.Context, o options) ([]float64, error) {
	if o.url != "" {
		return get(ctx, o)
	}
	client, err := rde.Attach(ctx, rde.Options{Socket: o.socket, Channels: 1, Depth: 8, Name: "ring-bench-go"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	const warm = 10 * time.Millisecond
	if _, err := measure(ctx, client, warm); err != nil {
		return nil, err
	}
	return measure(ctx, client, time.Duration(o.milliseconds)*time.Millisecond)
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
