package app

import (
	"context"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
)

// smallFilesOnly makes writes behind so many bytes of a file fail until the test ends, as on a full disk.
func smallFilesOnly(t *testing.T, bytes uint64) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if before.Max != math.MaxUint64 && before.Max < bytes {
		t.Skip("files are limited already")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) })
}

func (r *rig) wantNoFiles(dir string) {
	r.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(left) > 0 {
		r.Errorf("files are left: %v, %v", left, err)
	}
}

func TestAFullFolderForFilesGivesABody(t *testing.T) {
	dir, temp := testVolume(t), t.TempDir()
	server := cluster.Server(volumeServer(t, dir).URL)
	for source, fake := range map[string]*enginetest.Fake{"rdma": enginetest.New(dir), "http": nil} {
		t.Run(source, func(t *testing.T) {
			r := newRig(t, config.Config{VolumeServer: server, TempDir: temp}, fake)
			smallFilesOnly(t, 1<<20)
			got := r.get("/read?use_temp_file=true&file_id=" + largeID)
			r.want(got, http.StatusOK, source, largeData)
			if got.header.Get("X-Temp-File") != "" || got.header.Get("X-Use-Temp-File") != "" {
				t.Errorf("headers %v", got.header)
			}
			r.wantNoFiles(temp)
		})
	}
}

func TestAFolderThatTakesNoFilesGivesABody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, config.Config{TempDir: dir}, enginetest.New(testVolume(t)))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	r.want(r.get("/read?use_temp_file=true&file_id="+smallID), http.StatusOK, "rdma", smallData)
}

func TestAFileOfWrongBytesIsNotHandedOut(t *testing.T) {
	dir, temp := testVolume(t), t.TempDir()
	fake := enginetest.New(dir)
	fake.OnRead = func(_ context.Context, _ int, offset uint64) error {
		if offset > 1<<20 {
			return rde.StatusObjectCorrupt
		}
		return nil
	}
	r := newRig(t, config.Config{VolumeServer: cluster.Server(volumeServer(t, dir).URL), TempDir: temp}, fake)
	r.want(r.get("/read?use_temp_file=true&file_id="+largeID), http.StatusOK, "http", largeData)
	r.wantNoFiles(temp)
	fake.CheckLent(t)
}
