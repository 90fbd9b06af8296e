package rde

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/crc"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

func crcOf(b []byte) uint32 { return crc.Of(b) }

func TestAManifestThatLiesIsCorrupt(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	part, itself := FileID{4, 1, 1}, FileID{4, 2, 1}
	e.Put(testID(part), enginetest.Object{Data: noise(100)})
	e.Put(testID(itself), enginetest.Object{Data: noise(100), Flags: layout.CompletionFlagManifest})
	chunks := func(size int64, list string) string {
		return fmt.Sprintf(`{"size":%d,"chunks":[%s]}`, size, strings.NewReplacer("P", part.String(), "M", itself.String()).Replace(list))
	}
	for name, text := range map[string]string{
		"nothing":         "",
		"no JSON":         "chunks",
		"another type":    `[1,2]`,
		"deep":            strings.Repeat("[", 100000),
		"a gap":           chunks(300, `{"fid":"P","offset":0,"size":100},{"fid":"P","offset":200,"size":100}`),
		"an overlap":      chunks(150, `{"fid":"P","offset":0,"size":100},{"fid":"P","offset":50,"size":100}`),
		"no start":        chunks(200, `{"fid":"P","offset":100,"size":100}`),
		"a negative size": chunks(0, `{"fid":"P","offset":0,"size":-1}`),
		"size 0":          chunks(0, `{"fid":"P","offset":0,"size":0}`),
		"overflow":        chunks(-9223372036854775807, `{"fid":"P","offset":0,"size":9223372036854775807},{"fid":"P","offset":9223372036854775807,"size":2}`),
		"over 2^63":       chunks(100, `{"fid":"P","offset":0,"size":18446744073709551615}`),
		"another sum":     chunks(101, `{"fid":"P","offset":0,"size":100}`),
		"a size of more":  chunks(101, `{"fid":"P","offset":0,"size":101}`),
		"a size of less":  chunks(99, `{"fid":"P","offset":0,"size":99}`),
		"no file id":      chunks(100, `{"fid":"","offset":0,"size":100}`),
		"a manifest":      chunks(100, `{"fid":"M","offset":0,"size":100}`),
	} {
		e.Put(testID(object), enginetest.Object{Data: []byte(text), Flags: layout.CompletionFlagManifest})
		for _, offset := range []uint64{0, 50} {
			if _, err := opened(c.ReadRange(watchdog(t), 0, object, offset, 0)); !errors.Is(err, StatusObjectCorrupt) {
				t.Errorf("%s, from %d: error is %v", name, offset, err)
			}
		}
	}
	wantClean(t, c)
}

func TestAManifestOverItsBoundIsCorrupt(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	bomb := pack(t, bytes.Repeat([]byte(" "), maxManifest+1))
	e.Put(testID(object), enginetest.Object{Data: bomb, Flags: layout.CompletionFlagManifest | layout.CompletionFlagGzip})
	_, err := c.ReadObject(watchdog(t), 0, object)
	wantStatus(t, err, StatusObjectCorrupt)
	wantClean(t, c)
}

func TestAManifestWithoutChunksIsEmpty(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	e.Put(testID(object), enginetest.Object{Data: []byte(`{"size":0,"chunks":null}`), Flags: layout.CompletionFlagManifest})
	if got, err := opened(c.ReadObject(watchdog(t), 0, object)); err != nil || len(got) != 0 {
		t.Fatalf("%d bytes, error %v", len(got), err)
	}
}

func TestAMissingChunkIsSaidAfterTheBytesBeforeIt(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	part := FileID{4, 1, 1}
	data := noise(100)
	e.Put(testID(part), enginetest.Object{Data: data})
	e.Put(testID(object), enginetest.Object{Flags: layout.CompletionFlagManifest, Data: []byte(fmt.Sprintf(
		`{"size":200,"chunks":[{"fid":"%s","offset":0,"size":100},{"fid":"4,0500000001","offset":100,"size":100}]}`, part))})
	got, err := opened(c.ReadObject(watchdog(t), 0, object))
	wantStatus(t, err, StatusObjectNotFound)
	if !bytes.Equal(got, data) {
		t.Fatalf("%d bytes came before it", len(got))
	}
	wantClean(t, c)
}

func TestAChunkThatThePeerHasNotIsAskedForAnywhere(t *testing.T) {
	const volumeNotFound = 200
	part := FileID{4, 1, 1}
	var elsewhere atomic.Uint64
	e := enginetest.Start(t, enginetest.Options{Script: func(c *enginetest.Conn, r *enginetest.Request) bool {
		if r.Op != layout.OpObjectRead || r.Object().Volume != part.Volume {
			return false
		}
		if r.Handle == 0 {
			elsewhere.Add(1)
			return false
		}
		c.Complete(r.Channel, layout.Completion{Tag: r.Tag, Status: volumeNotFound})
		return true
	}})
	c := attachTo(t, e, Options{})
	e.Put(testID(part), enginetest.Object{Data: noise(100)})
	e.Put(testID(object), enginetest.Object{Flags: layout.CompletionFlagManifest, Data: []byte(fmt.Sprintf(
		`{"size":100,"chunks":[{"fid":"%s","offset":0,"size":100}]}`, part))})
	got, err := opened(c.ReadObject(watchdog(t), enginetest.Peer, object))
	if err != nil || len(got) != 100 || elsewhere.Load() != 1 {
		t.Fatalf("%d bytes, error %v, asked elsewhere %d times", len(got), err, elsewhere.Load())
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"name":"x","size":5,"chunks":[{"fid":"3,01637037d6","offset":0,"size":5}]}`))
	f.Add([]byte(`{"size":-1,"chunks":[{"offset":-1,"size":9223372036854775807}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseManifest(object, raw)
		if err != nil {
			return
		}
		at := int64(0)
		for _, c := range m.Chunks {
			if c.Offset != at || c.Size <= 0 {
				t.Fatalf("accepted: %s", raw)
			}
			at += c.Size
		}
		if at != m.Size {
			t.Fatalf("accepted: %s", raw)
		}
	})
}

func TestAPartOfAChunkThatNobodyCheckedIsSaidToBeSo(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	checked, unchecked := FileID{4, 1, 1}, FileID{4, 2, 1}
	e.Put(testID(checked), enginetest.Object{Data: noise(100)})
	e.Put(testID(unchecked), enginetest.Object{Data: noise(100), Flags: layout.CompletionFlagUnverified})
	e.Put(testID(object), enginetest.Object{Flags: layout.CompletionFlagManifest, Data: fmt.Appendf(nil,
		`{"size":300,"chunks":[{"fid":"%s","offset":0,"size":100},{"fid":"%s","offset":100,"size":100},{"fid":"%[1]s","offset":200,"size":100}]}`, checked, unchecked)})
	for _, part := range []struct {
		offset, size uint64
		want         bool
	}{{0, 50, false}, {0, 100, false}, {250, 10, false}, {150, 10, true}, {50, 60, true}, {150, 100, true}} {
		opened, err := c.ReadRange(watchdog(t), 0, object, part.offset, part.size)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, opened); err != nil {
			t.Fatal(err)
		}
		if got := opened.Info().Unverified; got != part.want {
			t.Errorf("%d bytes from %d: unverified is %v", part.size, part.offset, got)
		}
		_ = opened.Close()
	}
	wantClean(t, c)
}
