package web

import (
	"net/http"
	"strings"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// notModified tells whether the client has these bytes already (If-None-Match, If-Modified-Since).
func notModified(r *http.Request, meta object.Meta) bool {
	if tags := r.Header.Get("If-None-Match"); tags != "" {
		for tag := range strings.SplitSeq(tags, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || meta.ETag != "" && tag == `"`+meta.ETag+`"` {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !meta.LastModified.IsZero() && !meta.LastModified.After(since)
}

// unchanged tells whether the object is the one that If-Range speaks of.
func unchanged(condition string, meta object.Meta) bool {
	if strings.HasPrefix(condition, `"`) {
		return meta.ETag != "" && condition == `"`+meta.ETag+`"`
	}
	at, err := http.ParseTime(condition)
	return err == nil && meta.LastModified.Equal(at)
}
