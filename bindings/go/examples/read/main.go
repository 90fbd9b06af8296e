// Command read copies an object to standard output.
//
//	read -socket /run/rdma-engine/attach.sock 3,01637037d6 > object
//	read -offset 100 -size 50 3,01637037d6
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
)

func main() {
	socket := flag.String("socket", rde.DefaultSocket, "attach socket of the engine")
	peer := flag.String("peer", "", "host:port of the storage engine; empty lets the engine choose")
	offset := flag.Uint64("offset", 0, "first byte")
	size := flag.Uint64("size", 0, "bytes; 0 = to the end")
	timeout := flag.Duration("timeout", time.Minute, "for everything")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: read [flags] VOLUME,KEYCOOKIE")
		flag.PrintDefaults()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := read(ctx, *socket, *peer, flag.Arg(0), *offset, *size); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(ctx context.Context, socket, peer, fid string, offset, size uint64) error {
	id, err := rde.ParseFileID(fid)
	if err != nil {
		return err
	}
	client, err := rde.Attach(ctx, rde.Options{Socket: socket, Name: "read"})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	var handle rde.Peer
	if peer != "" {
		if handle, err = client.Connect(ctx, peer); err != nil {
			return err
		}
	}
	object, err := client.ReadRange(ctx, handle, id, offset, size)
	if err != nil {
		return err
	}
	defer func() { _ = object.Close() }()
	_, err = io.Copy(os.Stdout, object)
	return err
}
