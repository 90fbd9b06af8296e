// Package app puts the parts of the sidecar together.
//
//	app := app.New(config, attach, logger)
//	err := app.Serve(ctx, listener) // until ctx ends
package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/engine"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginepath"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/httppath"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/metrics"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/readauth"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/reader"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/web"
)

// Version of the sidecar.
const Version = "0.1.0"

const (
	drainTime    = 5 * time.Second // for answers under way when the sidecar is told to stop
	headerTime   = 10 * time.Second
	headerLimit  = 32 << 10
	metricsLimit = 16 // connections to the listener for metrics alone
)

// App is a sidecar that is put together but does not serve yet.
type App struct {
	Handler http.Handler
	config  config.Config
	logger  *slog.Logger
	manager *engine.Manager // nil = the engine is not used
	health  *cluster.Health
	locator *cluster.Locator
	client  *http.Client
	web     *web.Server
	metrics *metrics.Metrics
}

// New puts a sidecar together. attach makes one attachment to the engine.
func New(c config.Config, attach func(context.Context) (engine.Client, error), logger *slog.Logger) *App {
	a := &App{config: c, logger: logger, metrics: metrics.New(), health: cluster.NewHealth(c.ConnectTimeout, logger)}
	a.client = httppath.NewClient(c.ConnectTimeout, c.MaxIdleTime)
	a.locator = cluster.NewLocator(cluster.LocatorOptions{Masters: c.Masters, Client: a.client, OnReply: a.metrics.Lookup})
	servers := &cluster.Servers{Locator: a.locator, Health: a.health, Fixed: c.VolumeServer, Allowed: c.Allowed, Engines: c.Engines}
	auth := readauth.New(c.ReadKey, servers, a.client, logger)
	options := reader.Options{Auth: auth, Metrics: a.metrics, Timeout: c.Timeout, Logger: logger,
		HTTP: httppath.New(httppath.Options{Servers: servers, Client: a.client, OnToken: auth.Note})}
	if c.EnableRDMA {
		a.manager = engine.NewManager(engine.Options{Attach: attach, ConnectTimeout: c.ConnectTimeout, Logger: logger, OnAttach: a.metrics.Attached})
		options.Engine = enginepath.New(enginepath.Options{Manager: a.manager, Servers: servers, Timeout: c.EngineTimeout, Copy: !c.ZeroCopy})
	}
	a.web = web.New(web.Options{Reader: reader.New(options), Manager: a.manager, Servers: servers, Auth: auth, Metrics: a.metrics,
		Logger: logger, MountCompat: c.MountCompat, Timeout: c.Timeout, TempDir: c.TempDir, Socket: c.Socket, Version: Version})
	a.Handler = a.web
	a.metrics.Watch("engine_connected", "1 while an engine is attached and answers.", func() float64 {
		if a.manager != nil && a.manager.Current() != nil {
			return 1
		}
		return 0
	})
	a.metrics.Watch("volume_servers_demoted", "Volume servers that failed and are asked last.", func() float64 { return float64(a.health.Demoted()) })
	return a
}

// Start begins attaching; the returned function ends that and everything else that runs in the background.
func (a *App) Start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if a.manager != nil {
		running.Go(func() { a.manager.Run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
		a.health.Close()
		a.web.Close()
		a.client.CloseIdleConnections()
	}
}

// Serve answers requests until ctx ends, then lets those under way finish for a while.
func (a *App) Serve(ctx context.Context, listener, metricsListener net.Listener) error {
	stop := a.Start()
	defer stop()
	server := a.server(a.Handler)
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(web.Limit(listener, a.config.MaxConnections)) }()
	extra := a.server(a.metrics.Handler())
	if metricsListener != nil {
		go func() { failed <- extra.Serve(web.Limit(metricsListener, metricsLimit)) }()
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.logger.Info("stopping; answers under way may finish", "seconds", drainTime.Seconds())
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if server.Shutdown(drain) != nil {
		_ = server.Close()
	}
	_ = extra.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (a *App) server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       a.config.MaxIdleTime,
		MaxHeaderBytes:    headerLimit,
		ErrorLog:          slog.NewLogLogger(a.logger.Handler(), slog.LevelDebug),
	}
}
