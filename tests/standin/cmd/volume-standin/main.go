// volume-standin serves SeaweedFS volume files over HTTP as a volume server does, for tests and demos.
//
//	volume-standin --dir /data --http 127.0.0.1:0
//	volume-standin --master --server 127.0.0.1:8080 --http 127.0.0.1:9333
//
// It prints "ready http=HOST:PORT" when it serves. Exit codes: 0 good, 2 bad usage, 3 could not start.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rdma-engine/rdma-engine/tests/standin/server"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func main() { os.Exit(run()) }

func run() int {
	var dirs, servers list
	flag.Var(&dirs, "dir", "folder with volume files (repeatable)")
	flag.Var(&servers, "server", "HOST:PORT of a volume server that the master knows (repeatable)")
	address := flag.String("http", "127.0.0.1:0", "HOST:PORT to listen on; port 0 picks one")
	master := flag.Bool("master", false, "be a master (/dir/lookup) instead of a volume server")
	delay := flag.Duration("delay", 0, "wait this long before each answer")
	keyFile := flag.String("jwt-read-key-file", "", "file with the key that read tokens are signed with")
	flag.Parse()
	if flag.NArg() > 0 || (*master && len(servers) == 0) || (!*master && len(dirs) == 0) {
		fmt.Fprintln(os.Stderr, "volume-standin: give --dir DIR, or --master and --server HOST:PORT")
		return 2
	}
	options := server.Options{Delay: *delay}
	if *keyFile != "" {
		key, err := os.ReadFile(*keyFile)
		if err != nil {
			fmt.Fprintf(os.Stderr, "volume-standin: --jwt-read-key-file: %v\n", err)
			return 2
		}
		options.ReadKey = bytes.TrimSpace(key)
	}
	var handler http.Handler = server.New(volume.Open(dirs...), options)
	if *master {
		handler = server.NewMaster(servers...)
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		fmt.Fprintf(os.Stderr, "volume-standin: --http %s: %v\n", *address, err)
		return 3
	}
	fmt.Printf("ready http=%s\n", listener.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintf(os.Stderr, "volume-standin: %v\n", err)
		return 3
	}
	return 0
}
