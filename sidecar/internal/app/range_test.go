package app

import (
	"net/http"
	"strings"
	"testing"
)

func TestARangeIsPartialContent(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		for header, want := range map[string]struct {
			first, last  int
			contentRange string
		}{
			"bytes=0-0":                    {0, 1, "bytes 0-0/5000"},
			"bytes=10-19":                  {10, 20, "bytes 10-19/5000"},
			"bytes=4990-":                  {4990, 5000, "bytes 4990-4999/5000"},
			"bytes=-10":                    {4990, 5000, "bytes 4990-4999/5000"},
			"bytes=-9999":                  {0, 5000, "bytes 0-4999/5000"},
			"bytes=4999-99999":             {4999, 5000, "bytes 4999-4999/5000"},
			"bytes=1-18446744073709551615": {1, 5000, "bytes 1-4999/5000"},
			"bytes=0-18446744073709551615": {0, 5000, "bytes 0-4999/5000"},
			" Bytes = 10-19 ":              {10, 20, "bytes 10-19/5000"},
		} {
			got := r.get("/read?file_id="+smallID, "Range", header)
			r.want(got, http.StatusPartialContent, source, smallData[want.first:want.last])
			if got.header.Get("Content-Range") != want.contentRange {
				r.Errorf("%s: Content-Range %q", header, got.header.Get("Content-Range"))
			}
		}
	})
}

func TestARangeOfAPackedObjectCountsUnpackedBytes(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		r.want(r.get("/read?file_id="+packedID, "Range", "bytes=50000-50099"), http.StatusPartialContent, source, packedData[50000:50100])
	})
}

func TestARangeOfAPartCountsFromThePart(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		got := r.get("/read?file_id="+smallID+"&offset=1000&size=100", "Range", "bytes=90-")
		r.want(got, http.StatusPartialContent, source, smallData[1090:1100])
		if got.header.Get("Content-Range") != "bytes 90-99/100" {
			r.Errorf("Content-Range %q", got.header.Get("Content-Range"))
		}
		r.want(r.get("/read?file_id="+smallID+"&offset=4000&size=5000", "Range", "bytes=-1"), http.StatusPartialContent, source, smallData[4999:])
	})
}

func TestARangeThatCannotBeIsNotSatisfiable(t *testing.T) {
	eachPath(t, func(r *rig, _ string) {
		for _, header := range []string{"bytes=5000-", "bytes=5000-5001", "bytes=9999-", "bytes=-0", "bytes=5-2", "bytes=a-b", "bytes=", "bytes=-",
			"bytes=+1-2", "bytes=18446744073709551615-", "bytes=99999999999999999999-"} {
			got := r.get("/read?file_id="+smallID, "Range", header)
			if got.code != http.StatusRequestedRangeNotSatisfiable || got.header.Get("Content-Range") != "bytes */5000" {
				r.Errorf("%s: got %d, Content-Range %q", header, got.code, got.header.Get("Content-Range"))
			}
		}
		if got := r.get("/read?file_id="+emptyID, "Range", "bytes=0-"); got.code != http.StatusRequestedRangeNotSatisfiable {
			r.Errorf("empty object: got %d", got.code)
		}
	})
}

func TestWhatIsNotOneRangeOfBytesGivesTheWhole(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		for _, header := range []string{"bits=0-5", "bytes=0-9,20-29", "nonsense"} {
			r.want(r.get("/read?file_id="+smallID, "Range", header), http.StatusOK, source, smallData)
		}
	})
}

func TestARangeOfAnotherVersionGivesTheWhole(t *testing.T) {
	eachPath(t, func(r *rig, source string) {
		etag := r.get("/read?file_id=" + smallID).header.Get("ETag")
		r.want(r.get("/read?file_id="+smallID, "Range", "bytes=1-2", "If-Range", etag), http.StatusPartialContent, source, smallData[1:3])
		r.want(r.get("/read?file_id="+smallID, "Range", "bytes=1-2", "If-Range", `"00000000"`), http.StatusOK, source, smallData)
		r.want(r.get("/read?file_id="+smallID, "Range", "bytes=1-2", "If-Range", "Fri, 14 Jul 2017 02:40:00 GMT"), http.StatusPartialContent, source, smallData[1:3])
		r.want(r.get("/read?file_id="+smallID, "Range", "bytes=1-2", "If-Range", "Fri, 14 Jul 2017 02:40:01 GMT"), http.StatusOK, source, smallData)
	})
}

func FuzzNoQueryAndNoRangeHarms(f *testing.F) {
	f.Add("file_id=3,01637037d6&volume_server=http://127.0.0.1:1", "bytes=0-1")
	f.Add("volume=0x3&needle=1&cookie=1&offset=0xffffffffffffffff&size=0xffffffffffffffff", "bytes=-1")
	f.Fuzz(func(t *testing.T, query, header string) {
		if strings.ContainsAny(query, " \r\n\x00#") || strings.ContainsAny(header, "\r\n\x00") {
			t.Skip()
		}
		request, err := http.NewRequest(http.MethodGet, "http://x/read", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.URL.RawQuery = query
		request.Header.Set("Range", header)
		recorder := &discard{header: http.Header{}}
		fuzzed().ServeHTTP(recorder, request)
		if recorder.code < 200 || recorder.code > 599 {
			t.Errorf("status %d", recorder.code)
		}
	})
}
