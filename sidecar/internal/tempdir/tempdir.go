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
	folderSuffix = ".d"
	youngSuffix  = ".new" // of a folder that is not locked yet
	youngPattern = "rdma-sidecar-*" + youngSuffix
	filePrefix   = "object-"
	looseAge     = 10 * time.Minute // of a young folder, or of a file beside the folders as earlier versions left them
)

// Folder is a subfolder of this process alone, made when the first file is. The process holds a lock on it that the
// kernel drops when it dies. Its mode is 0700, that of its files 0600. For many goroutines.
type Folder struct {
	parent string
	mutex  sync.Mutex
	held   *os.File // the locked subfolder; nil = not made yet
	path   string   // its name
}

// New gives a folder in a parent that exists.
func New(parent string) *Folder { return &Folder{parent: parent} }

// Create makes a file. Where somebody removed the subfolder it is made anew.
func (f *Folder) Create() (*os.File, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for again := false; ; again = true {
		if f.held == nil {
			held, path, err := makeLocked(f.parent)
			if err != nil {
				return nil, err
			}
			f.held, f.path = held, path
		}
		file, err := os.CreateTemp(f.path, filePrefix+"*")
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
		_ = syscall.Rmdir(f.path)
		_ = f.held.Close()
		f.held = nil
	}
}

// makeLocked makes a subfolder under a name that a sweep leaves alone, locks it and only then gives it its own name: a
// sweep beside it never meets one of ours without a lock.
func makeLocked(parent string) (held *os.File, path string, err error) {
	young, err := os.MkdirTemp(parent, youngPattern)
	if err != nil {
		return nil, "", err
	}
	path = strings.TrimSuffix(young, youngSuffix) + folderSuffix
	if held, err = lock(young); err != nil {
		_ = syscall.Rmdir(young)
		return nil, "", err
	}
	if err = os.Rename(young, path); err != nil {
		_ = syscall.Rmdir(young)
		_ = held.Close()
		return nil, "", err
	}
	return held, path, nil
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

func isOurs(info os.FileInfo) bool {
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Geteuid()
}

var (
	ourFolder   = regexp.MustCompile(`^rdma-sidecar-[0-9]+\.d$`)
	youngFolder = regexp.MustCompile(`^rdma-sidecar-[0-9]+\.new$`)
	looseFile   = regexp.MustCompile(`^rdma-sidecar-[0-9]+$`)
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
		case info.IsDir() && youngFolder.MatchString(entry.Name()) && time.Since(info.ModTime()) > looseAge:
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
