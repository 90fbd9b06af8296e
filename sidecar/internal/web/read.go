package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/readauth"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/reader"
)

// reading is one request for bytes, on its way to an answer.
type reading struct {
	server  *Server
	w       http.ResponseWriter
	r       *http.Request
	params  readParams
	request reader.Request
	session string // names this request
	begun   time.Time
}

// read answers GET and HEAD of /read and /rdma/read. A mount's answers have rules of their own on /read.
func (s *Server) read(mayBeMount bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		session := s.nextID()
		setSpelled(w.Header(), "X-RDMA-Session-ID", session)
		params, err := parseRead(r.URL.RawQuery)
		if err == nil && params.server != "" {
			err = s.options.Servers.Permit(r.Context(), params.server, params.id.Volume)
		}
		token := readauth.TokenOf(r)
		if err == nil {
			err = s.options.Auth.Check(token, params.named)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		g := reading{server: s, w: w, r: r, params: params, session: session, begun: begun, request: reader.Request{Preferred: params.server, Token: token,
			Want: object.Want{ID: params.id, Offset: params.offset, Length: params.size}}}
		// A mount takes a short answer for the end of the file: what reaches the object's end is left to itself.
		g.request.Want.Decline = mayBeMount && s.options.MountCompat && params.server != "" && params.size > 0 &&
			r.Method == http.MethodGet && r.Header.Get("Range") == "" && !params.json
		if err := g.answer(); err != nil {
			s.fail(w, r, err)
		}
	}
}

func (g *reading) answer() error {
	if g.r.Method == http.MethodHead || g.params.json {
		return g.metadata()
	}
	part, ranged, err := parseRange(g.r.Header.Get("Range"))
	if err != nil {
		return g.withSize(err)
	}
	if !ranged {
		return g.send(g.request.Want, nil)
	}
	return g.sendRange(part)
}

// withSize adds the object's size to a 416 that does not know it yet.
func (g *reading) withSize(err error) error {
	failure, ok := errors.AsType[*object.Failure](err)
	if !ok || failure.Code != http.StatusRequestedRangeNotSatisfiable {
		return err
	}
	meta, _, statErr := g.server.options.Reader.Stat(g.r.Context(), g.request)
	if statErr != nil {
		return statErr
	}
	if failure.Size, statErr = g.request.Want.Clip(meta.Size); statErr != nil {
		return statErr
	}
	return failure
}

// sendRange answers a range of what the query names.
func (g *reading) sendRange(part byteRange) error {
	plain := g.params.offset == 0 && g.params.size == 0 && !part.suffix && g.r.Header.Get("If-Range") == ""
	if plain {
		want := object.Want{ID: g.params.id, Offset: part.first}
		if !part.open && part.last-part.first != ^uint64(0) {
			want.Length = part.last - part.first + 1
		}
		return g.send(want, &contentRange{})
	}
	meta, _, err := g.server.options.Reader.Stat(g.r.Context(), g.request)
	if err != nil {
		return err
	}
	size, err := g.request.Want.Clip(meta.Size)
	if err != nil {
		return err
	}
	if condition := g.r.Header.Get("If-Range"); condition != "" && !unchanged(condition, meta) {
		return g.send(g.request.Want, nil)
	}
	first, length, err := part.within(size)
	if err != nil {
		return err
	}
	return g.send(object.Want{ID: g.params.id, Offset: g.params.offset + first, Length: length}, &contentRange{first: first, size: size, known: meta})
}

// contentRange is where a part lies in what the query names; with size 0 that is the whole object.
type contentRange struct {
	first, size uint64
	known       object.Meta // what first and size were reckoned from
}

func (g *reading) send(want object.Want, within *contentRange) error {
	g.request.Want = want
	if within != nil {
		g.request.Want.Decline = false
	}
	answer, err := g.server.options.Reader.Open(g.r.Context(), g.request)
	if err != nil {
		return err
	}
	defer answer.Close()
	if !answer.Declined {
		if err := precondition(g.r, answer.Meta); err != nil {
			return err
		}
	}
	code := http.StatusOK
	header := g.w.Header()
	if within != nil {
		if within.size == 0 {
			within.first, within.size = answer.Offset, answer.Meta.Size
		} else if !answer.Meta.Same(within.known) {
			return &object.Failure{Code: http.StatusServiceUnavailable, RetryAfter: "1", Text: fmt.Sprintf("file_id %s: the object changed during the request; ask again", want.ID)}
		}
		if answer.Length == 0 {
			failure := badRange(fmt.Sprintf("the Range lies behind the end of %d bytes", within.size))
			failure.Size = within.size
			return failure
		}
		code = http.StatusPartialContent
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", within.first, within.first+answer.Length-1, within.size))
	}
	g.server.options.Logger.Debug("read", "session", g.session, "file_id", want.ID, "offset", answer.Offset, "length", answer.Length,
		"declined", answer.Declined, "path", answer.Detail)
	if answer.Declined {
		g.pathHeaders("local", answer.Detail, 0)
		header.Set("Content-Length", "0")
		g.w.WriteHeader(http.StatusOK)
		return nil
	}
	g.metaHeaders(answer.Meta)
	source, engineBytes := "http", uint64(0)
	if answer.Source == object.FromEngine {
		source, engineBytes = "rdma", answer.Length
	}
	g.pathHeaders(source, answer.Detail, engineBytes)
	if notModified(g.r, answer.Meta) {
		header.Del("Content-Range")
		g.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if within == nil && g.params.file {
		handed, err := g.server.files.hand(g.w, g.r, answer)
		if handed {
			return nil
		}
		if err != nil {
			if g.r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // nobody listens
			}
			g.server.options.Logger.Warn("a temporary file could not be written; a body is sent instead", "session", g.session,
				"file_id", want.ID, "temp_dir", g.server.options.TempDir, "error", err)
			answer.Close()
			g.params.file = false
			return g.send(want, nil)
		}
	}
	header.Set("Content-Length", strconv.FormatUint(answer.Length, 10))
	g.w.WriteHeader(code)
	g.copy(answer)
	return nil
}

// copy sends the body. After the header there is no other way to tell a failure than to cut the connection.
func (g *reading) copy(answer *object.Answer) {
	for {
		bytes, err := answer.Body.Next(g.r.Context())
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = g.write(bytes)
		} else if g.r.Context().Err() == nil {
			g.server.options.Metrics.Aborted()
			g.server.options.Logger.Error("an answer was cut off", "session", g.session, "file_id", g.params.id, "error", err)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

const writeStep = 128 << 10 // bytes that a client has Options.Timeout to take

// write sends bytes straight from where they lie. A client that takes nothing for long must not hold the engine's memory.
func (g *reading) write(bytes []byte) error {
	control := http.NewResponseController(g.w)
	for len(bytes) > 0 {
		step := min(len(bytes), writeStep)
		_ = control.SetWriteDeadline(time.Now().Add(g.server.options.Timeout))
		if _, err := g.w.Write(bytes[:step]); err != nil {
			return err
		}
		bytes = bytes[step:]
	}
	return nil
}

// metadata answers HEAD and format=json.
func (g *reading) metadata() error {
	meta, source, err := g.server.options.Reader.Stat(g.r.Context(), g.request)
	if err != nil {
		return err
	}
	length, err := g.request.Want.Clip(meta.Size)
	if err != nil {
		return err
	}
	name, detail := "http", "volume server, metadata only"
	if source == object.FromEngine {
		name, detail = "rdma", "engine, metadata only"
	}
	g.pathHeaders(name, detail, 0)
	if g.params.json {
		g.server.json(g.w, http.StatusOK, map[string]any{
			"file_id": g.params.id.String(), "volume": g.params.id.Volume, "needle": g.params.id.Needle, "cookie": g.params.id.Cookie,
			"offset": g.params.offset, "size": length, "object_size": meta.Size, "etag": meta.ETag, "mime": meta.Mime, "name": meta.Name,
			"last_modified": stamp(meta.LastModified), "manifest": meta.Manifest, "source": name, "is_rdma": name == "rdma",
			"session_id": g.session, "duration": time.Since(g.begun).String(),
		})
		return nil
	}
	if err := precondition(g.r, meta); err != nil {
		return err
	}
	g.metaHeaders(meta)
	if notModified(g.r, meta) {
		g.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	g.w.Header().Set("Content-Length", strconv.FormatUint(length, 10))
	g.w.WriteHeader(http.StatusOK)
	return nil
}
