package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

// exports are the directories of volumes that tests read: always the repo's own, and more where there are any.
func exports(t *testing.T) []string {
	dirs := []string{harness.Data(t, "volumes")}
	if more := harness.Shared("volumes"); more != "" {
		dirs = []string{more} // it has the repo's volumes, and the parts of its manifest
	}
	return dirs
}

// readWhole reads an object as a user of the Go client does, and answers its size and SHA-256.
func readWhole(t *testing.T, client *rde.Client, peer rde.Peer, text string) (int64, string, error) {
	t.Helper()
	id, err := rde.ParseFileID(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	object, err := client.ReadObject(harness.Context(t), peer, id)
	if err != nil {
		return 0, "", err
	}
	defer object.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, object)
	return n, hex.EncodeToString(sum.Sum(nil)), err
}

// checkObject reads one object and compares it with what its line of objects.jsonl says.
func checkObject(t *testing.T, client *rde.Client, peer rde.Peer, want harness.Object) {
	t.Helper()
	size, sum, err := readWhole(t, client, peer, want.FID)
	if want.Expired || want.Missing {
		if !errors.Is(err, rde.StatusObjectNotFound) {
			t.Errorf("%s is gone, but reading it gave %d bytes and %v", want.FID, size, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s (%s): %v", want.FID, want.What, err)
		return
	}
	if size != want.Size || (want.SHA256 != "" && sum != want.SHA256) {
		t.Errorf("%s (%s): %d bytes, sha256 %s; want %d bytes, sha256 %s", want.FID, want.What, size, sum, want.Size, want.SHA256)
	}
}

// readable leaves out a manifest whose parts lie in a volume that is not exported.
func readable(objects []harness.Object) []harness.Object {
	known := map[string]bool{}
	for _, object := range objects {
		known[object.FID] = true
	}
	var list []harness.Object
	for _, object := range objects {
		whole := true
		for _, part := range object.Parts {
			whole = whole && known[part]
		}
		if whole {
			list = append(list, object)
		}
	}
	return list
}

func TestEveryObjectIsReadThroughTwoEngines(t *testing.T) {
	for _, dir := range exports(t) {
		storage := harness.StartStorage(t, dir)
		gateway := harness.StartGateway(t, storage)
		client := harness.Attach(t, gateway, rde.Options{Channels: 2})
		objects := readable(harness.Objects(t, dir))
		awaitVolumes(t, client, objects)
		for _, object := range objects {
			checkObject(t, client, 0, object)
		}
		if code := gateway.Terminate(); code != 0 {
			t.Errorf("gateway ended with %d\n%s", code, gateway.Log())
		}
		if code := storage.Terminate(); code != 0 {
			t.Errorf("storage ended with %d\n%s", code, storage.Log())
		}
	}
}

func TestEveryObjectIsReadFromTheEnginesOwnExport(t *testing.T) {
	for _, dir := range exports(t) {
		engine := harness.StartEngine(t, "--export", dir)
		client := harness.Attach(t, engine, rde.Options{})
		for _, object := range readable(harness.Objects(t, dir)) {
			checkObject(t, client, 0, object)
		}
	}
}

func TestAPeerThatIsNamedServesTheRead(t *testing.T) {
	dir := harness.Data(t, "volumes")
	storage := harness.StartStorage(t, dir)
	gateway := harness.StartEngine(t, "--transport", "tcp")
	client := harness.Attach(t, gateway, rde.Options{})
	peer, err := client.Connect(harness.Context(t), storage.Listen)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range readable(harness.Objects(t, dir)) {
		checkObject(t, client, peer, object)
	}
	if err := client.Disconnect(harness.Context(t), peer); err != nil {
		t.Fatal(err)
	}
	_, _, err = readWhole(t, client, peer, harness.Objects(t, dir)[0].FID)
	if !errors.Is(err, rde.StatusStaleHandle) {
		t.Errorf("a read over a closed peer: %v; want stale_handle", err)
	}
}

// awaitVolumes waits until the gateway has heard of the volumes that the objects lie in.
func awaitVolumes(t *testing.T, client *rde.Client, objects []harness.Object) {
	t.Helper()
	for _, object := range objects {
		id, err := rde.ParseFileID(object.FID)
		if err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "the gateway knows the volume of "+object.FID, func() bool {
			_, err := client.Stat(harness.Context(t), 0, id)
			return !errors.Is(err, rde.StatusVolumeNotFound)
		})
	}
}
