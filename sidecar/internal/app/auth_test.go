package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rdma-engine/rdma-engine/sidecar/internal/cluster"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/config"
	"github.com/rdma-engine/rdma-engine/sidecar/internal/enginetest"
	"github.com/rdma-engine/rdma-engine/tests/standin/server"
	"github.com/rdma-engine/rdma-engine/tests/standin/volume"
)

var readKey = []byte("a key for tests")

func token(t *testing.T, key []byte, fid string, expires time.Duration) string {
	t.Helper()
	claims := jwt.MapClaims{"fid": fid}
	if expires != 0 {
		claims["exp"] = time.Now().Add(expires).Unix()
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// guarded is a volume server that wants read tokens.
func guarded(t *testing.T, dir string) config.Config {
	t.Helper()
	web := httptest.NewServer(server.New(volume.Open(dir), server.Options{ReadKey: readKey}))
	t.Cleanup(web.Close)
	return config.Config{VolumeServer: cluster.Server(web.URL)}
}

func TestTheEngineIsNoWayAroundReadTokens(t *testing.T) {
	dir := testVolume(t)
	fake := enginetest.New(dir)
	r := newRig(t, guarded(t, dir), fake)
	if got := r.get("/read?file_id=" + smallID); got.code != http.StatusUnauthorized {
		t.Errorf("without token: got %d", got.code)
	}
	good := token(t, readKey, smallID, time.Minute)
	r.want(r.get("/read?file_id="+smallID, "Authorization", "Bearer "+good), http.StatusOK, "http", smallData)
	r.want(r.get("/read?file_id="+smallID+"&jwt="+good), http.StatusOK, "http", smallData)
	r.want(r.get("/read?file_id="+smallID, "Cookie", "AT="+good), http.StatusOK, "http", smallData)
	if got := r.get("/read?format=json&file_id=" + smallID); got.code != http.StatusUnauthorized {
		t.Errorf("metadata without token: got %d", got.code)
	}
	if fake.Reads.Load()+fake.Stats.Load() != 0 {
		t.Error("the engine was asked")
	}
}

func TestWithTheKeyTokensAreCheckedBeforeEitherPath(t *testing.T) {
	dir := testVolume(t)
	for name, fake := range map[string]*enginetest.Fake{"rdma": enginetest.New(dir), "http": nil} {
		t.Run(name, func(t *testing.T) {
			c := guarded(t, dir)
			c.ReadKey = readKey
			r := newRig(t, c, fake)
			for what, good := range map[string]string{"in time": token(t, readKey, smallID, time.Minute), "for ever": token(t, readKey, smallID, 0)} {
				if got := r.get("/read?file_id="+smallID, "Authorization", "BEARER "+good); got.code != http.StatusOK || got.source() != name {
					t.Errorf("%s: got %d %s", what, got.code, got.body)
				}
			}
			unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"fid": smallID}).SignedString(jwt.UnsafeAllowNoneSignatureType)
			if err != nil {
				t.Fatal(err)
			}
			other, err := jwt.NewWithClaims(jwt.SigningMethodHS512, jwt.MapClaims{"fid": smallID}).SignedString(readKey)
			if err != nil {
				t.Fatal(err)
			}
			for what, bad := range map[string]string{"none": "", "nonsense": "x.y.z", "another key": token(t, []byte("k"), smallID, time.Minute),
				"another object": token(t, readKey, largeID, time.Minute), "no object": token(t, readKey, "", time.Minute),
				"too late": token(t, readKey, smallID, -time.Minute), "unsigned": unsigned, "another method": other} {
				if got := r.get("/read?file_id="+smallID, "Authorization", "Bearer "+bad); got.code != http.StatusUnauthorized {
					t.Errorf("%s: got %d", what, got.code)
				}
			}
			if got := r.get("/benchmark?file_id=" + smallID); got.code != http.StatusUnauthorized {
				t.Errorf("benchmark: got %d", got.code)
			}
		})
	}
}

func TestATokenHoldsForTheSuffixedObjectsOfItsFileID(t *testing.T) {
	dir := testVolume(t)
	c := config.Config{ReadKey: readKey}
	r := newRig(t, c, enginetest.New(dir))
	if got := r.get("/read?file_id="+smallID+"_0", "Authorization", "Bearer "+token(t, readKey, smallID, 0)); got.code != http.StatusOK {
		t.Errorf("got %d %s", got.code, got.body)
	}
}

func TestAServerThatWantedTokensIsRememberedWhileItIsDown(t *testing.T) {
	dir := testVolume(t)
	web := httptest.NewServer(server.New(volume.Open(dir), server.Options{ReadKey: readKey}))
	r := newRig(t, config.Config{VolumeServer: cluster.Server(web.URL)}, enginetest.New(dir))
	if got := r.get("/read?file_id=" + smallID); got.code != http.StatusUnauthorized {
		t.Fatalf("got %d", got.code)
	}
	web.Close()
	if got := r.get("/read?file_id=" + smallID); got.code < 500 {
		t.Errorf("got %d", got.code)
	}
}
