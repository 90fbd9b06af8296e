package rde

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/rdma-engine/rdma-engine/bindings/go/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/bindings/go/internal/layout"
)

func pack(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// opened reads an object to its end, and closes it.
func opened(o *Object, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = o.Close() }()
	return io.ReadAll(o)
}

func wantClean(t testing.TB, c *Client) {
	t.Helper()
	eventually(t, "all buffers are back", func() bool { s := c.Stats(); return s.LentBlocks == 0 && s.Outstanding == 0 })
}

func TestAnObjectOfAnySizeComesOutWhole(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{SegmentSize: 8 << 20})
	c := attachTo(t, e, Options{})
	for _, size := range []int{0, 1, 4095, 4096, 4097, 65536, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3*pieceBytes + 7, 10 * pieceBytes} {
		data := noise(size)
		e.Put(testID(object), enginetest.Object{Data: data})
		o, err := c.ReadObject(watchdog(t), 0, object)
		if err != nil {
			t.Fatal(err)
		}
		if o.Size() != int64(size) || o.Len() != int64(size) || o.ETag() != crcOf(data) {
			t.Errorf("%d bytes: size %d, len %d, etag %08x", size, o.Size(), o.Len(), o.ETag())
		}
		got, err := opened(o, nil)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: got %d, error %v", size, len(got), err)
		}
		o, err = c.ReadObject(watchdog(t), 0, object)
		if err != nil {
			t.Fatal(err)
		}
		var to bytes.Buffer
		if n, err := o.WriteTo(&to); err != nil || n != int64(size) || !bytes.Equal(to.Bytes(), data) {
			t.Errorf("%d bytes: WriteTo wrote %d, error %v", size, n, err)
		}
		_ = o.Close()
	}
	wantClean(t, c)
}

func TestAnObjectIsAProperReader(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	data := noise(70000)
	e.Put(testID(object), enginetest.Object{Data: data})
	o, err := attachTo(t, e, Options{}).ReadObject(watchdog(t), 0, object)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = o.Close() }()
	if err := iotest.TestReader(struct{ io.Reader }{o}, data); err != nil {
		t.Fatal(err)
	}
}

func TestAnObjectThatFitsInOnePieceTakesOneRequest(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	e.Put(testID(object), enginetest.Object{Data: noise(5000)})
	c := attachTo(t, e, Options{})
	if _, err := opened(c.ReadObject(watchdog(t), 0, object)); err != nil {
		t.Fatal(err)
	}
	if n := c.Stats().Requests; n != 1 {
		t.Fatalf("%d requests", n)
	}
}

func TestRangesAreWhatASliceWouldBe(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{SegmentSize: 8 << 20})
	c := attachTo(t, e, Options{})
	plain := noise(2*pieceBytes + 100)
	text := []byte(strings.Repeat("all work and no play ", 60000))
	half := len(text) / 2
	parts := []FileID{{4, 1, 1}, {4, 2, 1}, {4, 3, 1}}
	e.Put(testID(parts[0]), enginetest.Object{Data: plain[:1000]})
	e.Put(testID(parts[1]), enginetest.Object{Data: pack(t, plain[1000:pieceBytes+5000]), Flags: layout.CompletionFlagGzip})
	e.Put(testID(parts[2]), enginetest.Object{Data: plain[pieceBytes+5000:]})
	joint := []byte(fmt.Sprintf(`{"name":"x","mime":"a/b","size":%d,"chunks":[{"fid":"%s","offset":1000,"size":%d},{"fid":"%s","offset":0,"size":1000},{"fid":"%s","offset":%d,"size":%d}]}`,
		len(plain), parts[1], pieceBytes+4000, parts[0], parts[2], pieceBytes+5000, len(plain)-pieceBytes-5000))
	for name, k := range map[string]struct {
		object enginetest.Object
		want   []byte
		size   int64
	}{
		"plain":           {enginetest.Object{Data: plain}, plain, int64(len(plain))},
		"gzip":            {enginetest.Object{Data: pack(t, text), Flags: layout.CompletionFlagGzip}, text, -1},
		"manifest":        {enginetest.Object{Data: joint, Flags: layout.CompletionFlagManifest}, plain, int64(len(plain))},
		"packed manifest": {enginetest.Object{Data: pack(t, joint), Flags: layout.CompletionFlagManifest | layout.CompletionFlagGzip}, plain, int64(len(plain))},
		"empty":           {enginetest.Object{}, nil, 0},
	} {
		e.Put(testID(object), k.object)
		n := len(k.want)
		for _, r := range [][2]int{{0, 0}, {0, 1}, {0, 999}, {0, 1000}, {999, 2}, {1000, 1}, {1, 0}, {half, 0}, {half, 4096}, {n / 2, n}, {n - 1, 0}, {n - 1, 1}, {n - 1, 5}, {n, 0}, {n, 7}, {5, pieceBytes + 4995}, {pieceBytes + 4999, 2}} {
			if r[0] < 0 || r[0] > n {
				continue
			}
			want := k.want[r[0]:]
			if r[1] > 0 && r[1] < len(want) {
				want = want[:r[1]]
			}
			o, err := c.ReadRange(watchdog(t), 0, object, uint64(r[0]), uint64(r[1]))
			if err != nil {
				t.Errorf("%s %v: %v", name, r, err)
				continue
			}
			if o.Size() != k.size || o.Len() >= 0 && o.Len() != int64(len(want)) || o.ETag() != crcOf(k.object.Data) {
				t.Errorf("%s %v: size %d, len %d, etag %08x", name, r, o.Size(), o.Len(), o.ETag())
			}
			if got, err := opened(o, nil); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %v: %d bytes, want %d; error %v", name, r, len(got), len(want), err)
			}
		}
		for _, size := range []uint64{0, 1, 1 << 63} {
			if _, err := c.ReadRange(watchdog(t), 0, object, uint64(n)+1, size); !errors.Is(err, StatusOffsetPastEnd) {
				t.Errorf("%s: past the end: error is %v", name, err)
			}
			if _, err := c.ReadRange(watchdog(t), 0, object, 1<<63+5, size); !errors.Is(err, StatusOffsetPastEnd) {
				t.Errorf("%s: far past the end: error is %v", name, err)
			}
		}
	}
	wantClean(t, c)
}

func TestAMissingObjectIsSaidAtOnce(t *testing.T) {
	c := attachTo(t, enginetest.Start(t, enginetest.Options{}), Options{})
	_, err := c.ReadObject(watchdog(t), 0, object)
	wantStatus(t, err, StatusObjectNotFound)
	_, err = c.ReadRange(watchdog(t), 0, object, 5, 5)
	wantStatus(t, err, StatusObjectNotFound)
	_, err = c.Stat(watchdog(t), 0, object)
	wantStatus(t, err, StatusObjectNotFound)
	wantClean(t, c)
}

// An object is replaced by one of the same size at every point of a stream: each stream gives one version, or an error.
func TestAReplacedObjectNeverComesOutMixed(t *testing.T) {
	const size = 3*pieceBytes + 11
	versions := [][]byte{noise(size), bytes.Repeat([]byte{1}, size), noise(size + 1)}
	for _, next := range []int{1, 2} {
		for point := uint64(1); point <= 7; point++ {
			var reads atomic.Uint64
			var e *enginetest.Engine
			e = enginetest.Start(t, enginetest.Options{SegmentSize: 8 << 20, Script: func(_ *enginetest.Conn, r *enginetest.Request) bool {
				if r.Op != layout.OpNop && reads.Add(1) == point {
					e.Put(testID(object), enginetest.Object{Data: versions[next]})
				}
				return false
			}})
			e.Put(testID(object), enginetest.Object{Data: versions[0]})
			c := attachTo(t, e, Options{})
			for name, open := range map[string]func() (*Object, error){
				"whole":     func() (*Object, error) { return c.ReadObject(watchdog(t), 0, object) },
				"range":     func() (*Object, error) { return c.ReadRange(watchdog(t), 0, object, 5, size-10) },
				"unchecked": func() (*Object, error) { return c.ReadObject(watchdog(t), 0, object, SkipCRC()) },
			} {
				e.Put(testID(object), enginetest.Object{Data: versions[0]})
				reads.Store(0)
				o, err := open()
				got, err := opened(o, err)
				if err != nil {
					wantStatus(t, err, StatusVolumeChanging)
					continue
				}
				whole := false
				for _, v := range versions {
					whole = whole || bytes.Equal(got, v) || bytes.Equal(got, v[5:size-5])
				}
				if !whole {
					t.Errorf("%s, version %d at request %d: a mixture", name, next, point)
				}
			}
			wantClean(t, c)
		}
	}
}

func TestDamagedPackedBytesAreCorrupt(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	c := attachTo(t, e, Options{})
	good := pack(t, noise(300000))
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 0x40
	for name, data := range map[string][]byte{
		"nothing": nil, "no gzip": []byte("plain text, no gzip"), "header alone": good[:10], "cut": good[:len(good)/2],
		"without its checksum": good[:len(good)-8], "flipped": flipped, "with a tail": append(bytes.Clone(good), "tail"...),
	} {
		e.Put(testID(object), enginetest.Object{Data: data, Flags: layout.CompletionFlagGzip})
		if _, err := opened(c.ReadObject(watchdog(t), 0, object)); !errors.Is(err, StatusObjectCorrupt) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	wantClean(t, c)
}

// endless gives zeros for ever, as a bomb of packed bytes would.
type endless struct{ after func() }

func (e endless) next() ([]byte, error) {
	e.after()
	return make([]byte, 4096), nil
}
func (endless) close() {}

func TestSkippingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	given := 0
	c := &cut{ctx: ctx, skip: math.MaxUint64, left: 1, source: endless{func() {
		if given++; given == 10 {
			cancel()
		}
	}}}
	_, err := c.next()
	wantStatus(t, err, StatusCancelled)
	if given != 10 {
		t.Fatalf("it went on for %d blocks", given)
	}
}

func TestAClosedObjectGivesNothingAndKeepsNothing(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{SegmentSize: 8 << 20})
	c := attachTo(t, e, Options{})
	e.Put(testID(object), enginetest.Object{Data: noise(10 * pieceBytes)})
	for _, read := range []int{0, 1, pieceBytes, 2*pieceBytes + 5} {
		o, err := c.ReadObject(watchdog(t), 0, object)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, o, int64(read)); err != nil {
			t.Fatal(err)
		}
		_ = o.Close()
		_ = o.Close()
		if _, err := o.Read(make([]byte, 1)); !errors.Is(err, ErrDetached) {
			t.Errorf("after %d bytes: error is %v", read, err)
		}
		wantClean(t, c)
	}
}

func TestStreamsShareASmallArenaWithoutStandingStill(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{SegmentSize: 2 << 20})
	data := noise(3*pieceBytes + 1)
	e.Put(testID(object), enginetest.Object{Data: data})
	c := attachTo(t, e, Options{})
	errs := make(chan error, 24)
	ctx := watchdog(t)
	for i := range cap(errs) {
		go func() {
			o, err := c.ReadObject(ctx, 0, object)
			if i%2 == 0 {
				if err == nil {
					_ = o.Close()
				}
				o, err = c.ReadRange(ctx, 0, object, 0, uint64(len(data)))
			}
			got, err := opened(o, err)
			if err == nil && !bytes.Equal(got, data) {
				err = errors.New("other bytes")
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	wantClean(t, c)
}

func TestAReaderThatFailsLeavesTheStreamWhereItWas(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{})
	data := noise(1000)
	e.Put(testID(object), enginetest.Object{Data: data})
	o, err := attachTo(t, e, Options{}).ReadObject(watchdog(t), 0, object)
	if err != nil {
		t.Fatal(err)
	}
	n, err := o.WriteTo(writerFunc(func([]byte) (int, error) { return 100, io.ErrClosedPipe }))
	if n != 100 || !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("wrote %d, error %v", n, err)
	}
	if got, err := opened(o, nil); err != nil || !bytes.Equal(got, data[100:]) {
		t.Fatalf("got %d bytes, error %v", len(got), err)
	}
}
