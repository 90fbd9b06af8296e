package integration

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

// refused starts an engine that cannot start, and answers its exit code and what it said.
func refused(t *testing.T, limit string, args ...string) (int, string) {
	t.Helper()
	socket := filepath.Join(harness.TempDir(t), "attach.sock")
	line := limit + `; exec "$@"`
	words := append([]string{"-c", line, "sh", harness.Program(t, "rdma-engine"), "--socket", socket}, args...)
	cmd := exec.CommandContext(harness.Context(t), "sh", words...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestMemoryThatTheEngineMayNotUseIsRefusedBeforeItIsTaken(t *testing.T) {
	dir := harness.Data(t, "volumes")
	for option, args := range map[string][]string{
		"--buffer-size":  {"--export", dir, "--listen", "127.0.0.1:0", "--buffer-size", "64TiB"},
		"--segment-size": {"--export", dir, "--segment-size", "64TiB"},
	} {
		code, said := refused(t, ":", args...)
		if code != 2 || !strings.Contains(said, option) {
			t.Errorf("%s: exit %d, said %q", option, code, said)
		}
	}
}

func TestWithoutRoomForAThreadTheEngineSaysSo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become a user who has one process")
	}
	socket := filepath.Join(harness.TempDir(t), "attach.sock")
	if err := os.Chmod(filepath.Dir(socket), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(harness.Context(t), "bash", "-c", `ulimit -u 1; exec "$@"`, "bash", harness.Program(t, "rdma-engine"),
		"--socket", socket)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit %d, said %q", code, out)
	}
}

func TestALimitOfFileSizeRefusesClientsAndNoMore(t *testing.T) {
	socket := filepath.Join(harness.TempDir(t), "attach.sock")
	engine := harness.SpawnUnder(t, []string{"sh", "-c", `ulimit -f 1000; exec "$@"`, "sh"}, "rdma-engine", "--socket", socket)
	engine.AwaitReady()
	for range 3 {
		if client, err := rde.Attach(harness.Context(t), rde.Options{Socket: socket}); err == nil {
			_ = client.Close()
			t.Fatal("attached, although its segment is larger than a file may be")
		}
	}
	if engine.Ended() {
		t.Fatalf("the engine is gone: %s", engine.Log())
	}
}

func TestConnectionsThatSayNothingDoNotKeepMetricsFromOthers(t *testing.T) {
	engine := harness.StartEngine(t, "--metrics", "127.0.0.1:0")
	var address string
	harness.Eventually(t, "the engine says where its metrics are", func() bool {
		found := regexp.MustCompile(`metrics http://(\S+)/metrics`).FindStringSubmatch(engine.Log())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	for range 8 {
		silent, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		if _, err := silent.Write([]byte("GET /metr")); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), "rde_") {
		t.Errorf("metrics: %q, %v", body, err)
	}
}
