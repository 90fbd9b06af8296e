package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestAGetMustHaveItsBytesAndItsHeader(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	good := options{url: server.URL + "/file", byteRange: "10-109", bytes: 100, milliseconds: 1, want: "Accept-Ranges=bytes"}
	samples, err := get(context.Background(), good)
	if err != nil || len(samples) == 0 {
		t.Fatalf("get: %d samples, %v", len(samples), err)
	}
	for name, change := range map[string]func(*options){
		"bytes":  func(o *options) { o.bytes = 99 },
		"header": func(o *options) { o.want = "X-Source=rdma" },
		"status": func(o *options) { o.url = server.URL + "/none" },
	} {
		bad := good
		change(&bad)
		if _, err := get(context.Background(), bad); err == nil {
			t.Errorf("%s: get took it", name)
		}
	}
}

func TestServingEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out bytes.Buffer
	if err := serve(ctx, t.TempDir(), &out); err != nil {
		t.Errorf("serve: %v", err)
	}
	if !bytes.HasPrefix(out.Bytes(), []byte("ready http=127.0.0.1:")) {
		t.Errorf("it printed %q", out.String())
	}
}
