package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/tempdir"
)

const (
	fileLife  = time.Minute // a file that nobody cleaned up goes by itself
	mostFiles = 1024
)

// tempFiles are the files that were handed to clients that asked for them (use_temp_file=true).
type tempFiles struct {
	folder *tempdir.Folder // nil = none are made
	mutex  sync.Mutex
	timers map[string]*time.Timer // by path
}

func newTempFiles(folder *tempdir.Folder) *tempFiles {
	return &tempFiles{folder: folder, timers: map[string]*time.Timer{}}
}

// hand writes a body to a file and names it in the answer. It tells false, with nothing written to the client,
// where a body must be sent instead; with an error the one that came with the answer is used up.
func (t *tempFiles) hand(w http.ResponseWriter, r *http.Request, answer *object.Answer) (handed bool, err error) {
	t.mutex.Lock()
	full := t.folder == nil || len(t.timers) >= mostFiles
	t.mutex.Unlock()
	if full || answer.Length == 0 {
		return false, nil
	}
	file, err := t.folder.Create()
	if err != nil {
		return false, nil
	}
	path := file.Name()
	err = fill(r, file, answer.Body)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path)
		return false, err
	}
	t.mutex.Lock()
	t.timers[path] = time.AfterFunc(fileLife, func() { _ = t.remove(path) })
	t.mutex.Unlock()
	w.Header().Set("X-Use-Temp-File", "true")
	w.Header().Set("X-Temp-File", path)
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return true, nil
}

func fill(r *http.Request, file *os.File, body object.Stream) error {
	for {
		bytes, err := body.Next(r.Context())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := file.Write(bytes); err != nil {
			return err
		}
	}
}

var errNotOurs = errors.New("the sidecar made no such file")

// remove deletes a file that was made here, and no other.
func (t *tempFiles) remove(path string) error {
	t.mutex.Lock()
	timer, ok := t.timers[path]
	delete(t.timers, path)
	t.mutex.Unlock()
	if !ok {
		return errNotOurs
	}
	timer.Stop()
	return os.Remove(path)
}

// Close deletes all files that are left.
func (t *tempFiles) Close() {
	t.mutex.Lock()
	var paths []string
	for path := range t.timers {
		paths = append(paths, path)
	}
	t.mutex.Unlock()
	for _, path := range paths {
		_ = t.remove(path)
	}
	if t.folder != nil {
		t.folder.Close()
	}
}

// cleanup answers DELETE /cleanup?temp_file=PATH.
func (s *Server) cleanup(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("temp_file")
	switch err := s.files.remove(path); {
	case path == "":
		s.fail(w, r, badRequest("temp_file is missing; send the path that X-Temp-File named"))
	case errors.Is(err, errNotOurs):
		s.fail(w, r, &object.Failure{Code: http.StatusNotFound, Certain: true, Text: fmt.Sprintf("temp_file %q: %v", clipped(path), err)})
	case err != nil && !errors.Is(err, os.ErrNotExist):
		s.fail(w, r, &object.Failure{Code: http.StatusInternalServerError, Text: fmt.Sprintf("temp_file %q", clipped(path)), Cause: err})
	default:
		s.json(w, http.StatusOK, map[string]any{"status": "success", "temp_file": path})
	}
}
