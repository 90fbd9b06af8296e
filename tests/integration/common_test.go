package integration

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

func itoa(n int) string { return strconv.Itoa(n) }

func octal(text string) uint64 {
	n, err := strconv.ParseUint(text, 8, 64)
	if err != nil {
		return 0
	}
	return n
}

// freePort is a port of loopback that nobody had a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func shortContext(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// objectsFile writes the objects in the form that ring-load reads: VID,FID SIZE SHA256.
func objectsFile(t *testing.T, objects []harness.Object) string {
	t.Helper()
	var text strings.Builder
	for _, object := range objects {
		// ring-load compares stored bytes.
		if object.Gzip || object.Expired || object.Missing || object.Manifest || object.SHA256 == "" ||
			strings.Contains(object.What, "packed it") {
			continue
		}
		fmt.Fprintf(&text, "%s %d %s\n", object.FID, object.Size, object.SHA256)
	}
	path := filepath.Join(harness.TempDir(t), "objects")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rdeOptions() rde.Options { return rde.Options{Channels: 1} }

// writeFile makes a small file that is of no use.
func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("not a socket\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
