// rdma-sidecar gives reads of SeaweedFS objects over HTTP, by an rdma-engine where one is attached and by the
// volume servers where not.
//
//	rdma-sidecar --engine-socket /run/rdma-engine/attach.sock --master 127.0.0.1:9333
//
// It prints "ready http=HOST:PORT" when it serves. Exit codes: 0 good, 2 bad usage, 3 could not start.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/app"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
)

const (
	exitGood    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitNoStart = 3
)

func main() { os.Exit(run()) }

func run() int {
	settings, err := config.Parse(os.Args[1:], os.Stderr)
	if errors.Is(err, config.ErrHelp) {
		return exitGood
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "rdma-sidecar: %v\n", err)
		return exitUsage
	}
	if settings.Version {
		fmt.Println("rdma-sidecar " + app.Version)
		return exitGood
	}
	level := slog.LevelInfo
	if settings.Debug {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", net.JoinHostPort(settings.Bind, settings.Port))
	if err != nil {
		fmt.Fprintf(os.Stderr, "rdma-sidecar: --bind %s --port %s: %v\n", settings.Bind, settings.Port, err)
		return exitNoStart
	}
	var metricsListener net.Listener
	if settings.Metrics != "" {
		if metricsListener, err = net.Listen("tcp", settings.Metrics); err != nil {
			fmt.Fprintf(os.Stderr, "rdma-sidecar: --metrics %s: %v\n", settings.Metrics, err)
			return exitNoStart
		}
	}
	sidecar := app.New(settings, engine.AttachTo(settings.Socket, logger), logger)
	fmt.Printf("ready http=%s\n", listener.Addr())
	if err := sidecar.Serve(ctx, listener, metricsListener); err != nil {
		fmt.Fprintf(os.Stderr, "rdma-sidecar: %v\n", err)
		return exitFailed
	}
	return exitGood
}
