// Package tempdir keeps the temporary files of a process apart from those of others in the same folder, and removes
// what processes left that were killed.
//
//	tempdir.Sweep("/dev/shm")
//	folder := tempdir.New("/dev/shm")
//	defer folder.Close()
//	file, err := folder.Create()
package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	folderPattern = "rdma-sidecar-*.d"
	filePrefix    = "object-"
	looseAge      = 10 * time.Minute // of a file beside the folders, as earlier versions left them; none lived so long
)

// Folder is a subfolder of this process alone, made when the first file is. The process holds a lock on it that the
// kernel drops when it dies. Its mode is 0700, that of its files 0600. For many goroutines.
type Folder struct {
	parent string
	mutex  sync.Mutex
	held   *os.File // the locked subfolder; nil = not made yet
}

// New gives a folder in a parent that exists.
func New(parent string) *Folder { return &Folder{parent: parent} }

// Create makes a file. Where somebody removed the subfolder it is made anew.
func (f *Folder) Create() (*os.File, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for again := false; ; again = true {
		if f.held == nil {
			held, err := makeLocked(f.parent)
			if err != nil {
				return nil, err
			}
			f.held = held
		}
		file, err := os.CreateTemp(f.held.Name(), filePrefix+"*")
		if !errors.Is(err, os.ErrNotExist) || again {
			return file, err
		}
		_ = f.held.Close()
		f.held = nil
	}
}

// Close removes the subfolder, if it is empty, and gives its lock up.
func (f *Folder) Close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.held != nil {
		_ = syscall.Rmdir(f.held.Name())
		_ = f.held.Close()
		f.held = nil
	}
}

// makeLocked makes a subfolder and locks it. Another process may sweep it away before the lock is taken.
func makeLocked(parent string) (*os.File, error) {
	const tries = 10
	var err error
	for range tries {
		var path string
		if path, err = os.MkdirTemp(parent, folderPattern); err != nil {
			return nil, err
		}
		var held *os.File
		if held, err = lock(path); err != nil {
			_ = syscall.Rmdir(path)
			continue
		}
		if isAt(held, path) {
			return held, nil
		}
		_ = held.Close()
		err = os.ErrNotExist
	}
	return nil, err
}

// lock opens a folder of our user and takes its lock, without waiting.
func lock(path string) (*os.File, error) {
	folder, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat()
	if err == nil && !isOurs(info) {
		err = os.ErrPermission
	}
	if err == nil {
		err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		_ = folder.Close()
		return nil, err
	}
	return folder, nil
}

func isAt(folder *os.File, path string) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	mine, err := folder.Stat()
	return err == nil && os.SameFile(there, mine)
}

func isOurs(info os.FileInfo) bool {
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Geteuid()
}

var (
	ourFolder = regexp.MustCompile(`^rdma-sidecar-[0-9]+\.d$`)
	looseFile = regexp.MustCompile(`^rdma-sidecar-[0-9]+$`)
)

// Sweep removes what processes of our user that are dead left in a folder, and counts the files. Nothing else is
// touched: not what another user owns, nor what a living process holds, nor what has another name.
func Sweep(parent string) (removed int) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		path := filepath.Join(parent, entry.Name())
		switch info, err := entry.Info(); {
		case err != nil || !isOurs(info):
		case info.IsDir() && ourFolder.MatchString(entry.Name()):
			removed += sweepFolder(path)
		case info.Mode().IsRegular() && looseFile.MatchString(entry.Name()) && time.Since(info.ModTime()) > looseAge:
			if os.Remove(path) == nil {
				removed++
			}
		}
	}
	return removed
}

func sweepFolder(path string) (removed int) {
	folder, err := lock(path)
	if err != nil {
		return 0
	}
	defer folder.Close()
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), filePrefix) && os.Remove(filepath.Join(path, entry.Name())) == nil {
			removed++
		}
	}
	_ = syscall.Rmdir(path) // fails where something else lies there
	return removed
}
