package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	rde "github.com/rdma-engine/rdma-engine/bindings/go"
	"github.com/rdma-engine/rdma-engine/tests/integration/harness"
)

// callsOf reads the total of a table that strace -c wrote.
func callsOf(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	total := regexp.MustCompile(`(?m)^\s*100\.00\s+\S+\s+\S*\s*(\d+)\s+\d*\s*total`).FindStringSubmatch(string(text))
	if total == nil {
		t.Fatalf("strace wrote no total:\n%s", text)
	}
	calls, err := strconv.Atoi(total[1])
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// Hundreds of thousands of operations cost neither side a system call each: what is left are start, end and looks at the attach socket.
func TestSpinningMakesNoSystemCallForEachOperation(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	dir := harness.TempDir(t)
	engineTable := filepath.Join(dir, "engine")
	clientTable := filepath.Join(dir, "client")
	socket := filepath.Join(dir, "attach.sock")
	engine := harness.SpawnUnder(t, []string{"strace", "-f", "-c", "-o", engineTable}, "rdma-engine", "--socket", socket, "--poll", "spin")
	harness.Eventually(t, "the engine is ready", func() bool { return strings.Contains(engine.Log(), "ready ") })

	load := exec.Command("strace", "-f", "-c", "-o", clientTable, harness.Program(t, "ring-load"), "--socket", socket,
		"--producers", "1", "--mix", "nop=100", "--seconds", "4", "--json")
	out, err := load.Output()
	if err != nil {
		t.Fatalf("ring-load: %v\n%s\n%s", err, out, engine.Log())
	}
	var result struct {
		Operations int `json:"done"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if result.Operations < 100_000 {
		t.Fatalf("ring-load did %d operations: too few to tell system calls of operations from those of the start", result.Operations)
	}
	child := childOf(t, engine.PID())
	if err := exec.Command("kill", "-TERM", strconv.Itoa(child)).Run(); err != nil {
		t.Fatal(err)
	}
	engine.Wait()
	for side, path := range map[string]string{"client": clientTable, "engine": engineTable} {
		calls := callsOf(t, path)
		t.Logf("%s: %d system calls for %d operations", side, calls, result.Operations)
		if calls*20 > result.Operations {
			t.Errorf("the %s made %d system calls for %d operations", side, calls, result.Operations)
		}
	}
}

// childOf is the program that strace runs.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}

func TestAnIdleEngineSleeps(t *testing.T) {
	engine := harness.StartEngine(t, "--export", harness.Data(t, "volumes"))
	client := harness.Attach(t, engine, rde.Options{Channels: 4})
	if err := client.Nop(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	before := harness.CPUTicks(t, engine.PID())
	harness.Pause()
	used := harness.CPUTicks(t, engine.PID()) - before
	// Two seconds are 200 ticks: a core that spins would show nearly all of them.
	if used > 40 {
		t.Errorf("an idle engine used %d of 200 ticks", used)
	}
	if err := client.Nop(harness.Context(t)); err != nil {
		t.Errorf("the engine did not wake up: %v", err)
	}
}
