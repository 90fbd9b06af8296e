package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// serve gives the files of a folder by HTTP, until ctx ends: the plain server of a comparison.
func serve(ctx context.Context, folder string, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(folder)), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(out, "ready http=%s\n", listener.Addr())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// get answers the microseconds of each of a row of GETs. Each must have the wanted header and so many bytes.
func get(ctx context.Context, o options) ([]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url, nil)
	if err != nil {
		return nil, err
	}
	if o.byteRange != "" {
		request.Header.Set("Range", "bytes="+o.byteRange)
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	buffer := make([]byte, 1<<20)
	if err := firstGet(ctx, client, request, o, buffer); err != nil {
		return nil, err
	}
	const warm = 100 * time.Millisecond
	var samples []float64
	for begun := time.Now(); ; {
		start := time.Now()
		if err := getOnce(client, request, o, buffer); err != nil {
			return nil, err
		}
		took, since := time.Since(start), time.Since(begun)
		if since > warm {
			samples = append(samples, float64(took.Nanoseconds())/1e3)
		}
		if since > warm+time.Duration(o.milliseconds)*time.Millisecond {
			return samples, nil
		}
	}
}

// firstGet waits for a server that has only just started: until then it may answer by another path.
func firstGet(ctx context.Context, client *http.Client, request *http.Request, o options, buffer []byte) error {
	const often = 50 * time.Millisecond
	end := time.Now().Add(o.patience)
	for {
		err := getOnce(client, request, o, buffer)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		time.Sleep(often)
	}
}

func getOnce(client *http.Client, request *http.Request, o options, buffer []byte) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", o.url, response.Status)
	}
	if name, want, found := strings.Cut(o.want, "="); found && response.Header.Get(name) != want {
		return fmt.Errorf("%s: header %s is %q, want %q", o.url, name, response.Header.Get(name), want)
	}
	bytes := int64(0)
	for {
		n, err := response.Body.Read(buffer)
		bytes += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if o.bytes != 0 && bytes != o.bytes {
		return fmt.Errorf("%s: %d bytes, want %d", o.url, bytes, o.bytes)
	}
	return nil
}
