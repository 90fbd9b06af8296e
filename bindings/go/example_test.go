package rde_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
)

func Example() {
	socket, stop := engineWithHello() // in earnest: rde.DefaultSocket
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := rde.Attach(ctx, rde.Options{Socket: socket})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	id, err := rde.ParseFileID("3,01637037d6")
	if err != nil {
		fmt.Println(err)
		return
	}
	buffer, info, err := client.Read(ctx, 0, id, 0, 4096)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer buffer.Release()
	fmt.Printf("%s (%d of %d bytes)\n", buffer.Bytes(), info.Bytes, info.ObjectSize)

	id.Needle++
	_, _, err = client.Read(ctx, 0, id, 0, 4096)
	fmt.Println(errors.Is(err, rde.StatusObjectNotFound))
	// Output:
	// hello, memory (13 of 13 bytes)
	// true
}

// engineWithHello serves one object from this process.
func engineWithHello() (socket string, stop func()) {
	folder, err := os.MkdirTemp("", "rde")
	if err != nil {
		panic(err)
	}
	engine, err := enginetest.Open(folder, enginetest.Options{})
	if err != nil {
		panic(err)
	}
	engine.Put(enginetest.ID{Volume: 3, Needle: 1, Cookie: 0x637037d6}, enginetest.Object{Data: []byte("hello, memory")})
	return engine.Socket, func() {
		engine.Close()
		_ = os.RemoveAll(folder)
	}
}
