package web

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// readParams is the query of a read.
type readParams struct {
	id     rde.FileID
	named  rde.FileID // the id without its suffix "_N": what a read token names
	offset uint64
	size   uint64 // 0 = to the end
	server cluster.Server
	json   bool
	file   bool // the client would rather read a file
}

func badRequest(text string, args ...any) error {
	return &object.Failure{Code: http.StatusBadRequest, Certain: true, Text: fmt.Sprintf(text, args...)}
}

// parseRead reads the query of /read. An unescaped volume_server=http://HOST:PORT, as mounts send it, is fine.
func parseRead(rawQuery string) (readParams, error) {
	var params readParams
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return params, badRequest("the query cannot be read: %v; escape its values", err)
	}
	if params.id, params.named, err = parseID(query); err != nil {
		return params, err
	}
	if params.offset, err = number(query, "offset", math.MaxUint64); err != nil {
		return params, err
	}
	if params.size, err = number(query, "size", math.MaxUint64); err != nil {
		return params, err
	}
	if server := query.Get("volume_server"); server != "" {
		if params.server, err = cluster.ParseServer(server); err != nil {
			return params, badRequest("%v", err)
		}
	}
	switch format := query.Get("format"); format {
	case "", "binary":
	case "json":
		params.json = true
	default:
		return params, badRequest("format %q is not known; use json, or leave it out for the bytes", clipped(format))
	}
	params.file = query.Get("use_temp_file") == "true"
	return params, nil
}

func parseID(query url.Values) (id, named rde.FileID, err error) {
	text := query.Get("file_id")
	if text == "" {
		if !query.Has("volume") || !query.Has("needle") || !query.Has("cookie") {
			return id, id, badRequest("file_id is missing; send file_id=VOLUME,KEYCOOKIE, or volume, needle and cookie")
		}
		volume, err := number(query, "volume", math.MaxUint32)
		if err != nil {
			return id, id, err
		}
		if id.Needle, err = number(query, "needle", math.MaxUint64); err != nil {
			return id, id, err
		}
		cookie, err := number(query, "cookie", math.MaxUint32)
		if err != nil {
			return id, id, err
		}
		id.Volume, id.Cookie = uint32(volume), uint32(cookie)
		return id, id, nil
	}
	if !strings.Contains(text, ",") {
		text = strings.Replace(text, "/", ",", 1)
	}
	if id, err = rde.ParseFileID(text); err == nil {
		text, _, _ = strings.Cut(text, "_")
		named, err = rde.ParseFileID(text)
	}
	if err != nil {
		return id, id, badRequest("file_id %q is not a file id; send VOLUME,KEYCOOKIE such as 3,01637037d6", clipped(text))
	}
	return id, named, nil
}

// number reads a decimal or 0x parameter; one that is missing is 0.
func number(query url.Values, name string, most uint64) (uint64, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	digits, base := text, 10
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		digits, base = hex, 16
	}
	value, err := strconv.ParseUint(digits, base, 64)
	if err != nil || value > most {
		return 0, badRequest("%s %q is not a number from 0 to %d; send it in decimal or with 0x", name, clipped(text), most)
	}
	return value, nil
}

func clipped(text string) string {
	const limit = 100
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}
