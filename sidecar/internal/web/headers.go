package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// pathHeaders says by which path the bytes come, and what that took until now.
func (g *reading) pathHeaders(source, detail string, engineBytes uint64) {
	setPath(g.w.Header(), source, detail, engineBytes)
	setSpelled(g.w.Header(), "X-RDMA-Duration", time.Since(g.begun).String())
}

func setPath(header http.Header, source, detail string, engineBytes uint64) {
	header.Set("X-Source", source)
	setSpelled(header, "X-RDMA-Used", strconv.FormatBool(source == "rdma"))
	setSpelled(header, "X-RDMA-Bytes-Read", strconv.FormatUint(engineBytes, 10))
	header.Set("X-Data-Path", detail)
}

// setSpelled sets a header in the spelling that is documented, which is not the canonical one of Go.
func setSpelled(header http.Header, name, value string) { header[name] = []string{value} }

func (g *reading) metaHeaders(meta object.Meta) {
	header := g.w.Header()
	header.Set("Accept-Ranges", "bytes")
	header.Set("Content-Type", "application/octet-stream")
	if meta.Mime != "" {
		header.Set("Content-Type", meta.Mime)
	}
	header.Set("X-Content-Type-Options", "nosniff")
	if meta.ETag != "" {
		header.Set("ETag", `"`+meta.ETag+`"`)
	}
	if !meta.LastModified.IsZero() {
		header.Set("Last-Modified", meta.LastModified.UTC().Format(http.TimeFormat))
	}
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// fail answers with an error's text.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody listens
	}
	code := object.CodeOf(err)
	header := w.Header()
	setPath(header, "local", "none", 0)
	header.Del("Content-Range")
	text := err.Error()
	if failure, ok := errors.AsType[*object.Failure](err); ok {
		if failure.RetryAfter != "" {
			header.Set("Retry-After", failure.RetryAfter)
		}
		if code == http.StatusRequestedRangeNotSatisfiable {
			header.Set("Content-Range", fmt.Sprintf("bytes */%d", failure.Size))
		}
	}
	level := slog.LevelDebug
	if code >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	s.options.Logger.Log(r.Context(), level, "a request failed", "url", clipped(r.URL.String()), "code", code, "error", text)
	if code == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	s.json(w, code, map[string]any{"error": text, "status": code})
}
