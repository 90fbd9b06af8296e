package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

// precondition fails where the client wants none but another version of the object (If-Match, If-Unmodified-Since).
// What is not known of the object fails nothing.
func precondition(r *http.Request, meta object.Meta) error {
	if tags := strings.Join(r.Header.Values("If-Match"), ","); tags != "" {
		if meta.ETag == "" {
			return nil
		}
		for tag := range strings.SplitSeq(tags, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || tag == `"`+meta.ETag+`"` {
				return nil
			}
		}
		return &object.Failure{Code: http.StatusPreconditionFailed, Certain: true,
			Text: fmt.Sprintf("If-Match %s: the object's ETag is \"%s\"", clipped(tags), meta.ETag)}
	}
	until, err := http.ParseTime(r.Header.Get("If-Unmodified-Since"))
	if err != nil || meta.LastModified.IsZero() || !meta.LastModified.After(until) {
		return nil
	}
	return &object.Failure{Code: http.StatusPreconditionFailed, Certain: true,
		Text: fmt.Sprintf("If-Unmodified-Since %s: the object was modified at %s", until.UTC().Format(http.TimeFormat), meta.LastModified.UTC().Format(http.TimeFormat))}
}

// notModified tells whether the client has these bytes already (If-None-Match, If-Modified-Since).
func notModified(r *http.Request, meta object.Meta) bool {
	if tags := strings.Join(r.Header.Values("If-None-Match"), ","); tags != "" {
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
