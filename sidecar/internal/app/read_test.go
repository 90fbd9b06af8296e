package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
)

// eachPath runs a test by the engine and by HTTP: what a client sees must not depend on it.
func eachPath(t *testing.T, test func(r *rig, source string)) {
	t.Helper()
	dir := testVolume(t)
	t.Run("engine", func(t *testing.T) {
		fake := enginetest.New(dir)
		test(newRig(t, config.Config{}, fake), "rdma")
		fake.CheckLent(t)
	})
	t.Run("http", func(t *testing.T) {
		test(newRig(t, config.Config{VolumeServer: cluster.Server(volumeServer(t, dir).URL)}, nil), "http")
	})
}

func TestAWholeObjectIsRead(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		for id, data := range map[string][]byte{smallID: smallData, largeID: largeData, packedID: packedData, emptyID: nil} {
			got := r.get("/read?file_id=" + id)
			r.want(got, http.StatusOK, source, data)
			if got.header.Get("Content-Length") != strconv.Itoa(len(data)) {
				r.Errorf("%s: Content-Length %q", id, got.header.Get("Content-Length"))
			}
		}
	})
}

func TestOffsetAndSizeCountUnpackedBytes(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		for id, data := range map[string][]byte{smallID: smallData, largeID: largeData, packedID: packedData} {
			end := len(data)
			for _, part := range [][2]int{{0, 1}, {0, end}, {100, 50}, {end - 10, 10}, {end - 10, 100}, {end, 0}, {end, 5}, {17, 0}, {end / 2, end}} {
				last := end
				if part[1] > 0 {
					last = min(end, part[0]+part[1])
				}
				got := r.get(fmt.Sprintf("/read?file_id=%s&offset=%d&size=%d", id, part[0], part[1]))
				r.want(got, http.StatusOK, source, data[part[0]:last])
			}
		}
	})
}

func TestAnOffsetPastTheEndIsNotSatisfiable(t *testing.T) {
	eachPath(t, func(r *rig, _ string) {
		for id, data := range map[string][]byte{smallID: smallData, packedID: packedData, emptyID: nil} {
			for _, offset := range []uint64{uint64(len(data)) + 1, 1 << 40, 1 << 63, 1<<64 - 1} {
				got := r.get(fmt.Sprintf("/read?file_id=%s&offset=%d&size=10", id, offset))
				if got.code != http.StatusRequestedRangeNotSatisfiable || got.header.Get("Content-Range") != fmt.Sprintf("bytes */%d", len(data)) {
					r.Errorf("%s at %d: got %d, %q: %s", id, offset, got.code, got.header.Get("Content-Range"), got.body)
				}
			}
		}
	})
}

func TestASizeOverAllIsCutAtTheEnd(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		r.want(r.get("/read?file_id="+smallID+"&offset=10&size=18446744073709551615"), http.StatusOK, source, smallData[10:])
	})
}

func TestTheHeadersDescribeTheObject(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		got := r.get("/read?file_id=" + smallID)
		for name, want := range map[string]string{"Content-Type": "image/png", "Last-Modified": "Fri, 14 Jul 2017 02:40:00 GMT",
			"Accept-Ranges": "bytes", "X-Source": source, "X-RDMA-Used": strconv.FormatBool(source == "rdma")} {
			if got.header.Get(name) != want {
				r.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
			}
		}
		for _, name := range []string{"ETag", "X-RDMA-Session-ID", "X-RDMA-Duration", "X-RDMA-Bytes-Read", "X-Data-Path"} {
			if got.header.Get(name) == "" {
				r.Errorf("%s is missing", name)
			}
		}
		engineBytes := "0"
		if source == "rdma" {
			engineBytes = "5000"
		}
		if got.header.Get("X-RDMA-Bytes-Read") != engineBytes {
			r.Errorf("X-RDMA-Bytes-Read: %q", got.header.Get("X-RDMA-Bytes-Read"))
		}
	})
}

func TestHeadGivesTheLengthAndNoBody(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		for id, data := range map[string][]byte{smallID: smallData, packedID: packedData} {
			got := r.do(http.MethodHead, "/read?file_id="+id+"&offset=7", "Range", "bytes=0-1")
			r.want(got, http.StatusOK, source, nil)
			if got.header.Get("Content-Length") != strconv.Itoa(len(data)-7) {
				r.Errorf("Content-Length %q", got.header.Get("Content-Length"))
			}
		}
	})
}

func TestVolumeNeedleAndCookieNameAnObject(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		r.want(r.get("/read?volume=3&needle=0x1&cookie=2654435761"), http.StatusOK, source, smallData)
		r.want(r.get("/read?volume=0x3&needle=1&cookie=0x9E3779B1"), http.StatusOK, source, smallData)
		r.want(r.get("/rdma/read?file_id="+smallID+"&size=9"), http.StatusOK, source, smallData[:9])
	})
}

func TestMetadataIsGivenAsJSON(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		got := r.get("/read?format=json&file_id=" + packedID)
		var meta map[string]any
		if err := json.Unmarshal(got.body, &meta); err != nil {
			r.Fatal(err)
		}
		if meta["object_size"] != float64(len(packedData)) || meta["source"] != source || meta["mime"] != "text/plain" {
			r.Errorf("got %s", got.body)
		}
	})
}

func TestAnObjectThatIsNotThereIsNotFound(t *testing.T) {
	eachPath(t, func(r *rig, _ string) {
		for _, id := range []string{"3,ff00000001", strings.Replace(smallID, "9e", "9f", 1), "9,0100000001"} {
			if got := r.get("/read?file_id=" + id); got.code != http.StatusNotFound || !strings.Contains(string(got.body), id) {
				r.Errorf("%s: got %d %s", id, got.code, got.body)
			}
		}
	})
}

func TestAClientThatHasTheBytesGetsNone(t *testing.T) {
	eachPath(t, func(r *rig, _ string) {
		etag := r.get("/read?file_id=" + smallID).header.Get("ETag")
		for _, header := range [][2]string{{"If-None-Match", etag}, {"If-None-Match", `"x", W/` + etag}, {"If-Modified-Since", "Fri, 14 Jul 2017 02:40:00 GMT"}} {
			if got := r.get("/read?file_id="+smallID, header[0], header[1]); got.code != http.StatusNotModified || len(got.body) > 0 {
				r.Errorf("%v: got %d", header, got.code)
			}
		}
		if got := r.get("/read?file_id="+smallID, "If-None-Match", `"00000000"`); got.code != http.StatusOK {
			r.Errorf("another tag: got %d", got.code)
		}
	})
}

func TestAClientThatWantsAnotherVersionIsRefused(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		etag := r.get("/read?file_id=" + smallID).header.Get("ETag")
		const before, at = "Fri, 14 Jul 2017 02:39:59 GMT", "Fri, 14 Jul 2017 02:40:00 GMT"
		for _, headers := range [][]string{{"If-Match", `"x"`}, {"If-Match", `"x", "y"`}, {"If-Match", "W/" + etag}, {"If-Match", "x"},
			{"If-Unmodified-Since", before}, {"If-Match", `"x"`, "If-None-Match", etag}, {"If-Match", `"x"`, "Range", "bytes=0-9"},
			{"If-Match", `"x"`, "Range", "bytes=-9"}} {
			if got := r.get("/read?file_id="+smallID, headers...); got.code != http.StatusPreconditionFailed || bytes.Contains(got.body, smallData[:9]) {
				r.Errorf("%v: got %d", headers, got.code)
			}
			if got := r.do(http.MethodHead, "/read?file_id="+smallID, headers...); got.code != http.StatusPreconditionFailed {
				r.Errorf("HEAD, %v: got %d", headers, got.code)
			}
		}
		for _, headers := range [][]string{{"If-Match", etag}, {"If-Match", `"x", ` + etag}, {"If-Match", "*"}, {"If-Unmodified-Since", at},
			{"If-Unmodified-Since", "nonsense"}, {"If-Match", etag, "If-Unmodified-Since", before}} {
			r.want(r.get("/read?file_id="+smallID, headers...), http.StatusOK, source, smallData)
		}
		r.want(r.get("/read?file_id="+smallID, "If-Match", etag, "Range", "bytes=0-9"), http.StatusPartialContent, source, smallData[:10])
		got := r.get("/read?file_id="+smallID, "If-None-Match", etag, "Range", "bytes=0-9")
		if got.code != http.StatusNotModified || got.header.Get("Content-Range") != "" {
			r.Errorf("a range that the client has: got %d, %v", got.code, got.header)
		}
	})
}

func TestBadQueriesAreNamed(t *testing.T) {
	r := newRig(t, config.Config{}, enginetest.New(testVolume(t)))
	for query, field := range map[string]string{
		"": "file_id", "file_id=3": "file_id", "file_id=zz": "file_id", "file_id=4294967299,0100000001": "file_id",
		"volume=3&needle=1": "cookie", "volume=x&needle=1&cookie=1": "volume", "volume=3&needle=1&cookie=4294967296": "cookie",
		"file_id=" + smallID + "&offset=-1": "offset", "file_id=" + smallID + "&size=1e3": "size", "file_id=" + smallID + "&size=18446744073709551616": "size",
		"file_id=" + smallID + "&format=xml": "format", "file_id=" + smallID + "&offset=%zz": "query",
		"file_id=" + smallID + "&volume_server=ftp://x": "volume server", "file_id=" + smallID + "&volume_server=http://u@h:1": "volume server",
		"file_id=" + smallID + "&volume_server=http://h:1/path": "volume server", "file_id=" + smallID + "&volume_server=http://h:99999": "volume server",
	} {
		if got := r.get("/read?" + query); got.code != http.StatusBadRequest || !strings.Contains(string(got.body), field) {
			t.Errorf("%q: got %d %s", query, got.code, got.body)
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	r := newRig(t, config.Config{}, enginetest.New(testVolume(t)))
	if got := r.do(http.MethodPost, "/read?file_id="+smallID); got.code != http.StatusMethodNotAllowed || got.header.Get("Allow") == "" {
		t.Errorf("got %d, Allow %q", got.code, got.header.Get("Allow"))
	}
}
