package server

import (
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// content is what one answer sends: bytes, and how they are called.
type content struct {
	name string
	mime string
	data []byte
}

func (c *content) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Accept-Ranges", "bytes")
	if c.mime == "" {
		c.mime = typeByExtension(c.name)
	}
	if c.mime != "" {
		header.Set("Content-Type", c.mime)
	}
	if c.name != "" {
		kind := "inline"
		if download, _ := strconv.ParseBool(r.FormValue("dl")); download {
			kind = "attachment"
		}
		header.Set("Content-Disposition", mime.FormatMediaType(kind, map[string]string{"filename": c.name}))
	}
	total := int64(len(c.data))
	if r.Method == http.MethodHead {
		header.Set("Content-Length", strconv.FormatInt(total, 10))
		return
	}
	rangeText := r.Header.Get("Range")
	if rangeText == "" {
		header.Set("Content-Length", strconv.FormatInt(total, 10))
		_, _ = w.Write(c.data)
		return
	}
	ranges, err := parseRanges(rangeText, total)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestedRangeNotSatisfiable)
		return
	}
	var sum int64
	for _, span := range ranges {
		sum += span.length
	}
	if sum > total || len(ranges) == 0 {
		return // the real server answers 200 with no body
	}
	if len(ranges) == 1 {
		span := ranges[0]
		header.Set("Content-Length", strconv.FormatInt(span.length, 10))
		header.Set("Content-Range", span.contentRange(total))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(c.data[span.start : span.start+span.length])
		return
	}
	c.writeParts(w, ranges)
}

func (c *content) writeParts(w http.ResponseWriter, ranges []span) {
	var body strings.Builder
	parts := multipart.NewWriter(&body)
	for _, span := range ranges {
		part, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Range": {span.contentRange(int64(len(c.data)))},
			"Content-Type":  {c.mime},
		})
		if err != nil {
			return
		}
		_, _ = part.Write(c.data[span.start : span.start+span.length])
	}
	_ = parts.Close()
	w.Header().Set("Content-Type", "multipart/byteranges; boundary="+parts.Boundary())
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write([]byte(body.String()))
}

type span struct{ start, length int64 }

func (s span) contentRange(total int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", s.start, s.start+s.length-1, total)
}

var errInvalidRange = errors.New("invalid range")

// parseRanges reads a Range header. A start at the very end is allowed, and gives an empty part.
func parseRanges(text string, total int64) ([]span, error) {
	list, ok := strings.CutPrefix(text, "bytes=")
	if !ok {
		return nil, errInvalidRange
	}
	var spans []span
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		first, last, ok := strings.Cut(item, "-")
		if !ok {
			return nil, errInvalidRange
		}
		parsed, err := parseSpan(strings.TrimSpace(first), strings.TrimSpace(last), total)
		if err != nil {
			return nil, err
		}
		spans = append(spans, parsed)
	}
	return spans, nil
}

func parseSpan(first, last string, total int64) (span, error) {
	if first == "" {
		length, err := strconv.ParseInt(last, 10, 64)
		if err != nil || length < 0 {
			return span{}, errInvalidRange
		}
		length = min(length, total)
		return span{total - length, length}, nil
	}
	start, err := strconv.ParseInt(first, 10, 64)
	if err != nil || start < 0 || start > total {
		return span{}, errInvalidRange
	}
	if last == "" {
		return span{start, total - start}, nil
	}
	end, err := strconv.ParseInt(last, 10, 64)
	if err != nil || end < start {
		return span{}, errInvalidRange
	}
	return span{start, min(end, total-1) - start + 1}, nil
}
