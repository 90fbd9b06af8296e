package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
	"github.com/rdma-engine/rdma-engine/tests/standin/volumetest"
)

// The storage host of the engine has one wrong bit; the volume server has a good copy.
func TestOneWrongBitNeverMakesAWholeAnswer(t *testing.T) {
	const size = 12_500_000
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * 2654435761 >> 13)
	}
	id := volume.FileID{Volume: 3, Key: 1, Cookie: 0x637037d6}
	for _, c := range []struct {
		at   int
		part bool // is asked for first
	}{{0, false}, {size / 2, false}, {size - 1, false}, {0, true}, {size - 1, true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			good, bad := t.TempDir(), t.TempDir()
			build := volumetest.New(3)
			build.AddID(id, volumetest.Object{Data: data})
			for _, dir := range []string{good, bad} {
				if err := build.Save(dir); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(bad, "3.dat")
			stored, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			stored[bytes.Index(stored, data[:64])+c.at] ^= 1
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				t.Fatal(err)
			}
			storage := harness.StartStorage(t, bad)
			gateway := harness.StartGateway(t, storage)
			standin := harness.Start(t, "volume-standin", "--dir", good, "--http", "127.0.0.1:0")
			sidecar := harness.Start(t, "rdma-sidecar", "-p", "0", "-e", gateway.Socket, "-v", "http://"+standin.Ready["http"])
			// read gives false where the answer was cut off.
			read := func(part string, want []byte) bool {
				answer, err := http.Get("http://" + sidecar.Ready["http"] + "/read?file_id=" + url.QueryEscape(id.String()) + part)
				if err != nil {
					return false
				}
				defer answer.Body.Close()
				body, err := io.ReadAll(answer.Body)
				if err != nil {
					return false
				}
				if answer.StatusCode != http.StatusOK || !bytes.Equal(body, want) {
					t.Errorf("%q: status %d over %s, %d bytes that look whole and are not", part, answer.StatusCode, answer.Header.Get("X-Data-Path"), len(body))
				}
				return true
			}
			harness.Eventually(t, "the sidecar has an engine", func() bool {
				answer, err := http.Get("http://" + sidecar.Ready["http"] + "/health")
				if err != nil {
					return false
				}
				defer answer.Body.Close()
				body, err := io.ReadAll(answer.Body)
				return err == nil && bytes.Contains(body, []byte(`"connected":true`))
			})
			if c.part && !read("&offset=0&size=1000", data[:1000]) {
				t.Error("a part was cut off")
			}
			harness.Eventually(t, "the object is read whole", func() bool { return read("", data) })
			for range 3 {
				if !read("", data) || !read("&offset=0&size=1000", data[:1000]) || !read("&offset=6000000", data[6000000:]) {
					t.Error("an answer was cut off although the object is known to be corrupt")
				}
			}
		})
	}
}
