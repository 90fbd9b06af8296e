package config

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheDefaultsAreTheDocumentedOnes(t *testing.T) {
	c, err := Parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.Bind != "127.0.0.1" || c.Port != "8081" || c.Socket != "/run/rdma-engine/attach.sock" || c.Timeout != 30*time.Second ||
		!c.EnableRDMA || !c.ZeroCopy || !c.MountCompat || c.Debug || c.VolumeServer != "" {
		t.Errorf("got %+v", c)
	}
}

func TestAllFlagsAreTaken(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Parse([]string{"-p", "0", "-e", "/s", "-d", "-t", "5s", "-v", "http://v:8080", "--enable-rdma=false", "--enable-zerocopy=false",
		"--temp-dir", t.TempDir(), "--max-connections", "7", "--max-idle-time", "1m", "--master", "m:9333", "--master", "n:9333",
		"--allow-volume-server", "HOST", "--allow-volume-server", "other:8080", "--engine-peer", "Host=engine:18515", "--engine-peer", "h:8080=e:1",
		"--bind", "::1", "--mount-compat=false", "--jwt-read-key-file", key, "--metrics", ":9101"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != "0" || c.Socket != "/s" || !c.Debug || c.Timeout != 5*time.Second || c.VolumeServer != "http://v:8080" || c.EnableRDMA || c.ZeroCopy ||
		c.MaxConnections != 7 || c.MaxIdleTime != time.Minute || len(c.Masters) != 2 || c.Bind != "::1" || c.MountCompat ||
		string(c.ReadKey) != "secret" || c.Metrics != ":9101" {
		t.Errorf("got %+v", c)
	}
	if strings.Join(c.Allowed, " ") != "host other:8080" {
		t.Errorf("allowed %v", c.Allowed)
	}
	if c.Engines["host"] != "engine:18515" || c.Engines["h:8080"] != "e:1" {
		t.Errorf("engines %v", c.Engines)
	}
}

func TestABadValueIsNamedWithItsFlag(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"--volume-server", "ftp://x"}, {"--master", "nocolon"}, {"--master", "h:0"}, {"--master", "h:x"}, {"--allow-volume-server", "http://u@h"},
		{"--engine-peer", "x"}, {"--engine-peer", "h=nocolon"}, {"--engine-peer", "=e:1"}, {"--timeout", "0s"}, {"--timeout", "-1s"},
		{"--max-idle-time", "0s"}, {"--max-connections", "0"}, {"--jwt-read-key-file", "/does/not/exist"}, {"--jwt-read-key-file", empty},
		{"--temp-dir", empty}, {"--temp-dir", "/does/not/exist"}, {"--port", "65536"}, {"--port", "x"}, {"--metrics", "x"}, {"--unknown", ""},
	} {
		if _, err := Parse(arguments, io.Discard); err == nil || !strings.Contains(err.Error(), arguments[0]) {
			t.Errorf("%v: %v", arguments, err)
		}
	}
	if _, err := Parse([]string{"stray"}, io.Discard); err == nil || !strings.Contains(err.Error(), "stray") {
		t.Errorf("a stray argument: %v", err)
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	var text bytes.Buffer
	if _, err := Parse([]string{"--help"}, &text); !errors.Is(err, ErrHelp) || !strings.Contains(text.String(), "--engine-peer") {
		t.Errorf("%v: %s", err, text.String())
	}
}
