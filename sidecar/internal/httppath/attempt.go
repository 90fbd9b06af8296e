package httppath

import (
	"context"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/object"
)

var errElsewhere = errors.New("the server does not have the volume any more, and named another")

// do sends one request. The returned cancel ends the body too; it must be called.
func (p *Path) do(ctx context.Context, method string, server cluster.Server, from From, id rde.FileID, byteRange string,
	patience time.Duration) (*http.Response, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(ctx)
	url := string(server) + "/" + id.String()
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	// With gzip allowed, a range would count packed bytes.
	request.Header.Set("Accept-Encoding", "identity")
	if byteRange != "" {
		request.Header.Set("Range", byteRange)
	}
	if from.Token != "" {
		request.Header.Set("Authorization", "Bearer "+from.Token)
	}
	if patience > 0 {
		timer := time.AfterFunc(patience, cancel)
		defer timer.Stop()
	}
	reply, err := p.options.Client.Do(request)
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("volume server %s: %w", server, err)
	}
	if p.options.OnToken != nil && from.Token == "" {
		p.options.OnToken(server, reply.StatusCode == http.StatusUnauthorized)
	}
	if err := refusal(server, id, reply); err != nil {
		_ = reply.Body.Close()
		cancel()
		return nil, nil, err
	}
	return reply, cancel, nil
}

// refusal turns an answer without object bytes into its error. 416 is left to the caller.
func refusal(server cluster.Server, id rde.FileID, reply *http.Response) error {
	if encoding := reply.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("volume server %s: it sent Content-Encoding %q, which was not asked for", server, encoding)
	}
	fail := func(code int, certain bool, text string) error {
		return &object.Failure{Code: code, Certain: certain, RetryAfter: reply.Header.Get("Retry-After"),
			Text: fmt.Sprintf("file_id %s: volume server %s %s", id, server, text)}
	}
	switch code := reply.StatusCode; code {
	case http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable:
		return nil
	case http.StatusNotFound:
		return fail(code, true, "has no such object")
	case http.StatusUnauthorized:
		return fail(code, true, "wants a read token; send jwt=, Authorization: Bearer, or the cookie AT")
	case http.StatusBadRequest:
		return fail(code, true, "says that this is not a file id")
	case http.StatusTooManyRequests:
		return fail(code, false, "is over its download limit")
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return fmt.Errorf("volume server %s: %w: %q", server, errElsewhere, reply.Header.Get("Location"))
	default:
		return fail(http.StatusBadGateway, false, "answered "+reply.Status)
	}
}

func (p *Path) head(ctx context.Context, server cluster.Server, from From, id rde.FileID, patience time.Duration) (object.Meta, error) {
	reply, cancel, err := p.do(ctx, http.MethodHead, server, from, id, "", patience)
	if err != nil {
		return object.Meta{}, err
	}
	defer cancel()
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK || reply.ContentLength < 0 {
		return object.Meta{}, fmt.Errorf("volume server %s: HEAD gave %s and no length", server, reply.Status)
	}
	return metaOf(reply, uint64(reply.ContentLength)), nil
}

func metaOf(reply *http.Response, size uint64) object.Meta {
	meta := object.Meta{
		Size:     size,
		ETag:     strings.Trim(strings.TrimPrefix(reply.Header.Get("ETag"), "W/"), `"`),
		Mime:     reply.Header.Get("Content-Type"),
		Manifest: reply.Header.Get("X-File-Store") == "chunked",
	}
	meta.LastModified, _ = http.ParseTime(reply.Header.Get("Last-Modified"))
	if _, parameters, err := mime.ParseMediaType(reply.Header.Get("Content-Disposition")); err == nil {
		meta.Name = parameters["filename"]
	}
	return meta
}

func rangeHeader(want object.Want) string {
	switch {
	case want.Offset == 0 && want.Length == 0:
		return ""
	case want.Length == 0 || want.Length > math.MaxInt64-want.Offset:
		return fmt.Sprintf("bytes=%d-", want.Offset)
	default:
		return fmt.Sprintf("bytes=%d-%d", want.Offset, want.Offset+want.Length-1)
	}
}

func (p *Path) get(ctx context.Context, server cluster.Server, from From, want object.Want, patience time.Duration) (*object.Answer, error) {
	if want.Offset > math.MaxInt64 {
		// No Range header can say it, and no object is that long.
		meta, err := p.head(ctx, server, from, want.ID, patience)
		if err == nil {
			err = object.PastEnd(want.Offset, meta.Size)
		}
		return nil, err
	}
	reply, cancel, err := p.do(ctx, http.MethodGet, server, from, want.ID, rangeHeader(want), patience)
	if err != nil {
		return nil, err
	}
	body := newStream(reply.Body, cancel, p.options.Stall, func(why error) {
		if ctx.Err() == nil {
			p.options.Servers.Health.Failed(server, why)
		}
	})
	first, meta, err := p.judge(ctx, reply, server, from, want, patience)
	answer := &object.Answer{Meta: meta, Offset: want.Offset, Source: object.FromHTTP, Detail: "volume server " + server.HostPort(), Body: body}
	if err == nil {
		answer.Length, err = want.Clip(meta.Size)
	}
	if err == nil && !(want.Decline && want.Tail(meta.Size)) {
		body.left = answer.Length
		err = body.skip(want.Offset - first)
	}
	if err != nil {
		body.Close()
		return nil, err
	}
	if want.Decline && want.Tail(meta.Size) {
		body.Close()
		answer.Declined, answer.Body = true, object.Empty{}
	}
	return answer, nil
}

// judge finds out at which offset the body begins and how long the whole object is.
func (p *Path) judge(ctx context.Context, reply *http.Response, server cluster.Server, from From, want object.Want,
	patience time.Duration) (first uint64, meta object.Meta, err error) {
	ranged := rangeHeader(want) != ""
	if reply.StatusCode == http.StatusPartialContent {
		return judgePart(reply, server, want)
	}
	if reply.StatusCode == http.StatusOK && reply.ContentLength >= 0 && (reply.ContentLength > 0 || !ranged) {
		return 0, metaOf(reply, uint64(reply.ContentLength)), nil
	}
	// 416 names no size, and some answers of 200 to a range are empty though the object is not.
	meta, err = p.head(ctx, server, from, want.ID, patience)
	if err != nil {
		return 0, meta, err
	}
	if want.Offset > meta.Size {
		return 0, meta, object.PastEnd(want.Offset, meta.Size)
	}
	if want.Offset == meta.Size {
		return want.Offset, meta, nil
	}
	return 0, meta, fmt.Errorf("volume server %s: %s to %s of an object of %d bytes", server, reply.Status, rangeHeader(want), meta.Size)
}

// judgePart reads Content-Range, "bytes FIRST-LAST/TOTAL". LAST is FIRST-1 where the part is empty.
func judgePart(reply *http.Response, server cluster.Server, want object.Want) (uint64, object.Meta, error) {
	text := reply.Header.Get("Content-Range")
	bad := func() (uint64, object.Meta, error) {
		return 0, object.Meta{}, fmt.Errorf("volume server %s: Content-Range %q with %d bytes does not answer %q",
			server, text, reply.ContentLength, rangeHeader(want))
	}
	span, totalText, ok := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	firstText, _, ok2 := strings.Cut(span, "-")
	first, err := strconv.ParseUint(firstText, 10, 63)
	total, err2 := strconv.ParseUint(totalText, 10, 63)
	if !ok || !ok2 || err != nil || err2 != nil || first != want.Offset || first > total {
		return bad()
	}
	length, err := want.Clip(total)
	if err != nil || reply.ContentLength < 0 || uint64(reply.ContentLength) != length {
		return bad()
	}
	return first, metaOf(reply, total), nil
}
