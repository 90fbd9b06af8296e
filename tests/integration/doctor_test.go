package integration

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

type diagnosis struct {
	OK       bool `json:"ok"`
	Findings []struct{ Check, Severity, Text, Mend string }
}

// examine runs the doctor and answers what it said, with its exit code.
func examine(t *testing.T, args ...string) (diagnosis, int) {
	t.Helper()
	cmd := exec.CommandContext(harness.Context(t), harness.Program(t, "rdma-engine"), append([]string{"doctor", "--json"}, args...)...)
	out, _ := cmd.Output()
	var d diagnosis
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("doctor printed %q: %v", out, err)
	}
	return d, cmd.ProcessState.ExitCode()
}

func TestTheDoctorFindsWhatKeepsAnEngineFromStarting(t *testing.T) {
	socket := filepath.Join(harness.TempDir(t), "attach.sock")
	if d, code := examine(t, "--socket", socket, "--export", harness.Data(t, "volumes")); code != 0 || !d.OK {
		t.Errorf("exit %d on a host where engines run: %+v", code, d)
	}
	d, code := examine(t, "--socket", filepath.Join(socket, "nowhere", "attach.sock"))
	if code != 1 || d.OK {
		t.Errorf("exit %d with a socket that cannot be made", code)
	}
	for _, f := range d.Findings {
		if f.Check == "socket" && (f.Severity != "error" || f.Mend == "") {
			t.Errorf("socket: %+v", f)
		}
	}
}

func TestTheDoctorLeavesARunningEngineAlone(t *testing.T) {
	socket := filepath.Join(harness.TempDir(t), "attach.sock")
	engine := harness.StartEngineAt(t, socket, "--export", harness.Data(t, "volumes"))
	if d, code := examine(t, "--socket", socket); code != 0 {
		t.Errorf("exit %d beside a running engine: %+v", code, d)
	}
	if err := harness.Attach(t, engine, rde.Options{}).Nop(harness.Context(t)); err != nil {
		t.Errorf("after the doctor: %v", err)
	}
}
