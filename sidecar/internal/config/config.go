// Package config reads the command line of rdma-sidecar.
//
//	config, err := config.Parse(os.Args[1:], os.Stderr)
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
)

// DefaultSocket is where an engine listens unless it is told otherwise.
const DefaultSocket = "/run/rdma-engine/attach.sock"

// Config is a checked command line.
type Config struct {
	Bind, Port     string
	Socket         string
	Debug          bool
	Timeout        time.Duration
	EngineTimeout  time.Duration
	ConnectTimeout time.Duration
	VolumeServer   cluster.Server
	EnableRDMA     bool
	ZeroCopy       bool
	MountCompat    bool
	TempDir        string
	MaxConnections int
	MaxIdleTime    time.Duration
	Masters        []string
	Allowed        []string
	Engines        map[string]string
	ReadKey        []byte
	Metrics        string // HOST:PORT of one more listener; "" = none
	Version        bool
}

// ErrHelp says that help was asked for, and printed.
var ErrHelp = pflag.ErrHelp

// Parse reads arguments. Errors name the flag, its value and what it takes; usage texts go to output.
func Parse(arguments []string, output io.Writer) (Config, error) {
	var c Config
	var volumeServer, keyFile string
	var port uint16
	var masters, allowed, engines []string
	flags := pflag.NewFlagSet("rdma-sidecar", pflag.ContinueOnError)
	flags.SetOutput(output)
	flags.SortFlags = false
	flags.StringVar(&c.Bind, "bind", "127.0.0.1", "address to listen on")
	flags.Uint16VarP(&port, "port", "p", 8081, "port to listen on; 0 picks one")
	flags.StringVarP(&c.Socket, "engine-socket", "e", DefaultSocket, "attach socket of the rdma-engine")
	flags.BoolVar(&c.EnableRDMA, "enable-rdma", true, "read through the engine")
	flags.StringVarP(&volumeServer, "volume-server", "v", "", "URL of the volume server to ask where nobody names another")
	flags.StringSliceVar(&masters, "master", nil, "HOST:PORT of the SeaweedFS master (repeatable; asked in order)")
	flags.StringSliceVar(&allowed, "allow-volume-server", nil, "HOST[:PORT] that clients may name in volume_server (repeatable)")
	flags.StringSliceVar(&engines, "engine-peer", nil, "HOST=HOST:PORT: the storage engine of a volume server's host (repeatable; default: the same host, port 18515)")
	flags.BoolVar(&c.MountCompat, "mount-compat", true, "leave mount reads that reach the end of an object to the mount")
	flags.StringVar(&keyFile, "jwt-read-key-file", "", "file with the key that read tokens are signed with")
	flags.DurationVarP(&c.Timeout, "timeout", "t", 30*time.Second, "longest time until the first byte of an answer, and until a client takes more")
	flags.DurationVar(&c.EngineTimeout, "engine-timeout", 2*time.Second, "longest time of one engine request before HTTP takes over")
	flags.DurationVar(&c.ConnectTimeout, "connect-timeout", time.Second, "longest time to connect to a volume server or a storage engine")
	flags.BoolVar(&c.ZeroCopy, "enable-zerocopy", true, "send straight from the engine's memory; off: copy, and give that memory back before the client takes the bytes")
	flags.StringVar(&c.TempDir, "temp-dir", "", "folder for files handed to clients that send use_temp_file=true; empty: none are")
	flags.IntVar(&c.MaxConnections, "max-connections", 1024, "most client connections at once")
	flags.DurationVar(&c.MaxIdleTime, "max-idle-time", 5*time.Minute, "how long an unused connection stays open")
	flags.StringVar(&c.Metrics, "metrics", "", "HOST:PORT to serve /metrics at as well")
	flags.BoolVarP(&c.Debug, "debug", "d", false, "log every decision")
	flags.BoolVar(&c.Version, "version", false, "print the version and exit")
	if err := flags.Parse(arguments); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("argument %q is not known; all settings are flags, see --help", flags.Arg(0))
	}
	c.Port = strconv.Itoa(int(port))
	var err error
	if volumeServer != "" {
		if c.VolumeServer, err = cluster.ParseServer(volumeServer); err != nil {
			return c, fmt.Errorf("--volume-server: %w", err)
		}
	}
	return c, errors.Join(c.times(), c.names(masters, allowed, engines), c.files(keyFile))
}

func (c *Config) times() error {
	for flag, value := range map[string]time.Duration{"timeout": c.Timeout, "engine-timeout": c.EngineTimeout,
		"connect-timeout": c.ConnectTimeout, "max-idle-time": c.MaxIdleTime} {
		if value <= 0 {
			return fmt.Errorf("--%s %v is not more than 0; give a time such as 30s", flag, value)
		}
	}
	if c.MaxConnections < 1 {
		return fmt.Errorf("--max-connections %d is less than 1; give a number such as 1024", c.MaxConnections)
	}
	return nil
}

func (c *Config) names(masters, allowed, engines []string) error {
	for _, master := range masters {
		if err := hostPort(master); err != nil {
			return fmt.Errorf("--master %q: %w", master, err)
		}
		c.Masters = append(c.Masters, master)
	}
	for _, text := range allowed {
		server, err := cluster.ParseServer(text)
		if err != nil {
			return fmt.Errorf("--allow-volume-server: %w", err)
		}
		// A host alone allows all its ports.
		name := server.HostPort()
		if _, _, err := net.SplitHostPort(text); err != nil && !strings.Contains(text, "://") {
			name = server.Host()
		}
		c.Allowed = append(c.Allowed, name)
	}
	c.Engines = map[string]string{}
	for _, text := range engines {
		host, engine, ok := strings.Cut(text, "=")
		if !ok || host == "" {
			return fmt.Errorf("--engine-peer %q is not HOST=HOST:PORT", text)
		}
		if err := hostPort(engine); err != nil {
			return fmt.Errorf("--engine-peer %q: %w", text, err)
		}
		c.Engines[strings.ToLower(host)] = engine
	}
	if c.Metrics != "" {
		if _, _, err := net.SplitHostPort(c.Metrics); err != nil {
			return fmt.Errorf("--metrics %q is not HOST:PORT", c.Metrics)
		}
	}
	return nil
}

func hostPort(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return errors.New("it is not HOST:PORT")
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("port %q is not between 1 and 65535", port)
	}
	return nil
}

func (c *Config) files(keyFile string) error {
	if keyFile != "" {
		key, err := os.ReadFile(keyFile)
		if err != nil {
			return fmt.Errorf("--jwt-read-key-file: %w", err)
		}
		if c.ReadKey = bytes.TrimSpace(key); len(c.ReadKey) == 0 {
			return fmt.Errorf("--jwt-read-key-file %s is empty; put the key of [jwt.signing.read] there", keyFile)
		}
	}
	if c.TempDir != "" {
		if info, err := os.Stat(c.TempDir); err != nil {
			return fmt.Errorf("--temp-dir: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--temp-dir %s is not a folder", c.TempDir)
		}
	}
	return nil
}
