package harness

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

// Engine is a running rdma-engine.
type Engine struct {
	*Process
	Socket string
	Listen string // HOST:PORT that other engines connect to
}

// TempDir is a directory with a short path: a Unix socket's path has at most 107 bytes.
func TempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "rde")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// StartEngine runs an engine with its own attach socket.
func StartEngine(t *testing.T, args ...string) *Engine {
	t.Helper()
	socket := filepath.Join(TempDir(t), "attach.sock")
	return StartEngineAt(t, socket, args...)
}

// StartEngineAt runs an engine at a given attach socket.
func StartEngineAt(t *testing.T, socket string, args ...string) *Engine {
	t.Helper()
	p := Start(t, "rdma-engine", append([]string{"--socket", socket}, args...)...)
	return &Engine{Process: p, Socket: socket, Listen: p.Ready["listen"]}
}

// StartStorage runs an engine that exports directories to other engines over UCX TCP on loopback.
func StartStorage(t *testing.T, dirs ...string) *Engine {
	t.Helper()
	args := []string{"--transport", "tcp", "--listen", "127.0.0.1:0"}
	for _, dir := range dirs {
		args = append(args, "--export", dir)
	}
	return StartEngine(t, args...)
}

// StartGateway runs an engine that is joined with storage engines, and waits until it knows their volumes.
func StartGateway(t *testing.T, storages ...*Engine) *Engine {
	t.Helper()
	args := []string{"--transport", "tcp"}
	for _, storage := range storages {
		args = append(args, "--peer", storage.Listen)
	}
	return StartEngine(t, args...)
}

// Attach connects the Go client to an engine.
func Attach(t *testing.T, engine *Engine, options rde.Options) *rde.Client {
	t.Helper()
	options.Socket = engine.Socket
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := rde.Attach(Context(t), options)
	if err != nil {
		t.Fatalf("attach: %v\n%s", err, engine.Log())
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Context ends with the test's patience.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Eventually waits until a condition holds; it fails the test when the patience is over.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never came true: %s", what)
}
