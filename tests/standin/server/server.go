// Package server answers HTTP reads of objects the way a SeaweedFS volume server does, its quirks included.
//
//	handler := server.New(volume.Open("/data"), server.Options{})
//	http.ListenAndServe("127.0.0.1:8080", handler)
package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

// Options change how the server behaves; the zero value is a plain server.
type Options struct {
	Delay   time.Duration // waited before each answer
	ReadKey []byte        // when set, reads need a token signed with it
}

// Server is an http.Handler over a store.
type Server struct {
	store   *volume.Store
	options Options
}

// New gives a server of the store's objects.
func New(store *volume.Store, options Options) *Server {
	return &Server{store: store, options: options}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.options.Delay > 0 {
		select {
		case <-time.After(s.options.Delay):
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.URL.Path == "/status":
		s.status(w)
	case r.URL.Path == "/healthz":
		w.WriteHeader(http.StatusOK)
	default:
		s.object(w, r)
	}
}

func (s *Server) status(w http.ResponseWriter) {
	type entry struct{ Id uint32 }
	volumes := []entry{}
	for _, id := range s.store.Volumes() {
		volumes = append(volumes, entry{id})
	}
	writeJSON(w, http.StatusOK, map[string]any{"Version": "standin", "Volumes": volumes})
}

func (s *Server) object(w http.ResponseWriter, r *http.Request) {
	name := splitPath(r.URL.Path)
	if s.options.ReadKey != nil && !s.tokenAllows(r, name.volume+","+name.keyCookie) {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "wrong jwt"})
		return
	}
	id, err := volume.ParseFileID(name.volume, name.keyCookie)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	needle, err := s.store.Read(id)
	switch {
	case errors.Is(err, volume.ErrNotFound), errors.Is(err, volume.ErrNoVolume):
		w.WriteHeader(http.StatusNotFound)
		return
	case err != nil:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.answer(w, r, needle, name)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, needle *volume.Needle, name urlName) {
	header := w.Header()
	if !needle.LastModified.IsZero() {
		header.Set("Last-Modified", needle.LastModified.Format(http.TimeFormat))
		since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
		if err == nil && !needle.LastModified.After(since) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	etag := `"` + needle.ETag() + `"`
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("ETag", etag)
	for key, value := range needle.Pairs {
		header.Set(key, value)
	}
	c := content{name: needle.Name, mime: needle.Mime, data: needle.Data}
	if name.file != "" {
		c.name = name.file
	}
	if err := s.unpack(&c, w, r, needle); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	c.write(w, r)
}

// unpack decides which bytes are sent: those stored, unpacked ones, or those that a chunk manifest names.
func (s *Server) unpack(c *content, w http.ResponseWriter, r *http.Request, needle *volume.Needle) error {
	resolve := needle.Manifest && r.FormValue("cm") != "false"
	if needle.Gzip && !resolve && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		return nil
	}
	if needle.Gzip {
		reader, err := gzip.NewReader(bytes.NewReader(needle.Data))
		if err != nil {
			return err
		}
		if c.data, err = io.ReadAll(reader); err != nil {
			return err
		}
	}
	if !resolve {
		return nil
	}
	var manifest struct {
		Name   string `json:"name"`
		Mime   string `json:"mime"`
		Size   int64  `json:"size"`
		Chunks []struct {
			Fid    string `json:"fid"`
			Offset int64  `json:"offset"`
			Size   int64  `json:"size"`
		} `json:"chunks"`
	}
	if err := json.Unmarshal(c.data, &manifest); err != nil {
		return err
	}
	w.Header().Set("X-File-Store", "chunked")
	var whole []byte
	for _, chunk := range manifest.Chunks {
		volumeText, keyCookie, _ := strings.Cut(chunk.Fid, ",")
		id, err := volume.ParseFileID(volumeText, keyCookie)
		if err != nil {
			return err
		}
		part, err := s.store.Read(id)
		if err != nil {
			return err
		}
		if chunk.Offset != int64(len(whole)) || chunk.Size != int64(len(part.Data)) {
			return fmt.Errorf("manifest: chunk %s does not follow on", chunk.Fid)
		}
		whole = append(whole, part.Data...)
	}
	c.data, c.name, c.mime = whole, manifest.Name, manifest.Mime
	return nil
}

type urlName struct{ volume, keyCookie, file string }

// splitPath takes /VID,FID[.ext], /VID/FID[.ext] and /VID/FID/name apart.
func splitPath(urlPath string) urlName {
	trimmed := strings.TrimPrefix(urlPath, "/")
	parts := strings.Split(trimmed, "/")
	var name urlName
	switch len(parts) {
	case 1:
		name.volume, name.keyCookie, _ = strings.Cut(trimmed, ",")
	case 2:
		name.volume, name.keyCookie = parts[0], parts[1]
	case 3:
		return urlName{volume: parts[0], keyCookie: parts[1], file: parts[2]}
	}
	name.keyCookie = strings.TrimSuffix(name.keyCookie, path.Ext(name.keyCookie))
	return name
}

func typeByExtension(fileName string) string {
	extension := path.Ext(fileName)
	if extension == ".bin" { // known to the mime tables of common systems, not to Go's own
		return "application/octet-stream"
	}
	return mime.TypeByExtension(extension)
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}
