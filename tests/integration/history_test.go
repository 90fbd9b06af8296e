package integration

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

var moments = []string{"1-first", "2-changed", "3-vacuumed"}

// overlay lays a moment's files over an export, the way vacuum does: new files, then rename.
func overlay(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".jsonl") {
			continue
		}
		copyFile(t, filepath.Join(from, name), filepath.Join(to, name+".new"))
		names = append(names, name)
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(to, name+".new"), filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// answers is what each object may look like at some moment: its SHA-256, or "" where it is missing.
func answers(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, moment := range moments {
		for _, object := range harness.Objects(t, harness.Data(t, "history/"+moment)) {
			if all[object.FID] == nil {
				all[object.FID] = map[string]bool{}
			}
			all[object.FID][object.SHA256] = true
		}
	}
	return all
}

// While a volume is changed and vacuumed under the readers, every answer is one that was right at some moment, and once
// it is still, every answer is the last one.
func TestAVolumeIsFollowedWhileItChanges(t *testing.T) {
	export := harness.TempDir(t)
	overlay(t, harness.Data(t, "history/"+moments[0]), export)
	storage := harness.StartStorage(t, export)
	gateway := harness.StartGateway(t, storage)
	client := harness.Attach(t, gateway, rde.Options{Channels: 2})
	first := harness.Objects(t, harness.Data(t, "history/"+moments[0]))
	awaitVolumes(t, client, first[:1])
	right := answers(t)

	stop := make(chan struct{})
	done := make(chan int)
	for range 2 {
		go func() {
			reads := 0
			for {
				for fid, sums := range right {
					select {
					case <-stop:
						done <- reads
						return
					default:
					}
					_, sum, err := readWhole(t, client, 0, fid)
					reads++
					switch {
					case err == nil && sums[sum]:
					case errors.Is(err, rde.StatusObjectNotFound): // not written yet, or deleted
					case errors.Is(err, rde.StatusVolumeChanging): // honest, and retryable
					default:
						t.Errorf("%s while the volume changes: sha256 %s, error %v", fid, sum, err)
					}
				}
			}
		}()
	}
	for range 2 {
		for _, moment := range moments {
			overlay(t, harness.Data(t, "history/"+moment), export)
			time.Sleep(150 * time.Millisecond)
		}
	}
	close(stop)
	for range 2 {
		if reads := <-done; reads == 0 {
			t.Error("a reader has read nothing")
		}
	}
	last := harness.Objects(t, harness.Data(t, "history/"+moments[2]))
	harness.Eventually(t, "the last moment is seen", func() bool {
		for _, object := range last {
			if !object.Missing {
				_, sum, err := readWhole(t, client, 0, object.FID)
				return err == nil && sum == object.SHA256
			}
		}
		return false
	})
	for _, object := range last {
		checkObject(t, client, 0, object)
	}
}
