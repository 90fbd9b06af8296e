package tempdir

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func create(t *testing.T, folder *Folder) string {
	t.Helper()
	file, err := folder.Create()
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// die gives a folder's lock up as the kernel does for a process that is killed.
func die(t *testing.T, folder *Folder) {
	t.Helper()
	if err := folder.held.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatTheDeadLeftGoesAndWhatTheLivingHoldStays(t *testing.T) {
	parent := t.TempDir()
	dead, living := New(parent), New(parent)
	left, held := create(t, dead), create(t, living)
	die(t, dead)
	if removed := Sweep(parent); removed != 1 {
		t.Errorf("%d files were removed", removed)
	}
	if exists(left) || exists(filepath.Dir(left)) || !exists(held) {
		t.Errorf("dead: %v, living: %v", exists(left), exists(held))
	}
	if err := os.Remove(held); err != nil {
		t.Fatal(err)
	}
	living.Close()
	if exists(filepath.Dir(held)) {
		t.Error("a folder that was closed is still there")
	}
}

func TestNothingThatOnlyLooksLikeOursIsTouched(t *testing.T) {
	parent, outside := t.TempDir(), t.TempDir()
	old := time.Now().Add(-time.Hour)
	write := func(path string, at time.Time) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kept := []string{
		write(filepath.Join(parent, "rdma-sidecar-notes"), old),
		write(filepath.Join(parent, "rdma-sidecar-src.d", "object-1"), old),
		write(filepath.Join(parent, "rdma-sidecar-5.d", "other"), old),
		write(filepath.Join(parent, "rdma-sidecar-6"), time.Now()), // of an earlier version that may live
		write(filepath.Join(outside, "object-1"), old),
	}
	gone := []string{
		write(filepath.Join(parent, "rdma-sidecar-7"), old),
		write(filepath.Join(parent, "rdma-sidecar-5.d", "object-2"), old),
	}
	for link, to := range map[string]string{"rdma-sidecar-8.d": outside, "rdma-sidecar-9": kept[4]} {
		if err := os.Symlink(to, filepath.Join(parent, link)); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(parent)
	for _, path := range kept {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
	for _, path := range gone {
		if exists(path) {
			t.Errorf("%s was left", path)
		}
	}
}

func TestAFolderThatWasRemovedIsMadeAnew(t *testing.T) {
	folder := New(t.TempDir())
	defer folder.Close()
	if err := os.RemoveAll(filepath.Dir(create(t, folder))); err != nil {
		t.Fatal(err)
	}
	if path := create(t, folder); !exists(path) {
		t.Errorf("%s is not there", path)
	}
}

func TestOthersMayNotRead(t *testing.T) {
	folder := New(t.TempDir())
	defer folder.Close()
	path := create(t, folder)
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestManyStartAndSweepAtOnce(t *testing.T) {
	parent := t.TempDir()
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for range 20 {
				Sweep(parent)
				folder := New(parent)
				file, err := folder.Create()
				if err != nil {
					t.Error(err)
					return
				}
				Sweep(parent)
				if !exists(file.Name()) {
					t.Error("a living process lost its file")
				}
				_ = file.Close()
				_ = os.Remove(file.Name())
				folder.Close()
			}
		})
	}
	workers.Wait()
}
