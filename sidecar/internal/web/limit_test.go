package web

import (
	"net"
	"testing"
	"time"
)

func TestOneConnectionMoreWaitsForAnotherToEnd(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := Limit(inner, 1)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- connection
		}
	}()
	for range 2 {
		connection, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("two were accepted")
	case <-time.After(50 * time.Millisecond):
	}
	_ = first.Close()
	_ = first.Close() // once more must not free another place
	second := <-accepted
	_ = listener.Close()
	_ = second.Close()
	if connection, open := <-accepted; open {
		t.Errorf("%v was accepted after Close", connection)
	}
}
