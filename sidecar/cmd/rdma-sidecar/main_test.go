package main

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test program is the sidecar itself where this is set.
const beSidecar = "RDMA_SIDECAR_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beSidecar) != "" {
		main()
	}
	os.Exit(m.Run())
}

func sidecar(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env = append(os.Environ(), beSidecar+"=1")
	command.WaitDelay = time.Second
	return command
}

// serving starts a sidecar and waits until it says where it serves.
func serving(t *testing.T, arguments ...string) (command *exec.Cmd, address string) {
	t.Helper()
	command = sidecar(t, append([]string{"-p", "0"}, arguments...)...)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "ready http=")
	if err != nil || !ok {
		t.Fatalf("it printed %q, %v", line, err)
	}
	return command, address
}

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

func TestItSaysWhereItServesAndEndsWellWhenTold(t *testing.T) {
	command, address := serving(t, "-e", "/does/not/exist", "-v", "http://127.0.0.1:1", "--metrics", "127.0.0.1:0")
	reply, err := http.Get("http://" + address + "/health")
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Errorf("health: %s", reply.Status)
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(command.Wait()); code != exitGood {
		t.Errorf("exit code %d", code)
	}
}

func TestExitCodesTellBadUsageFromNoStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		arguments []string
		code      int
		text      string
	}{
		{[]string{"--version"}, exitGood, "rdma-sidecar "},
		{[]string{"--help"}, exitGood, "--engine-socket"},
		{[]string{"--nonsense"}, exitUsage, "--nonsense"},
		{[]string{"--timeout", "0s"}, exitUsage, "--timeout"},
		{[]string{"-p", port}, exitNoStart, port},
		{[]string{"-p", "0", "--metrics", taken.Addr().String()}, exitNoStart, "--metrics"},
	} {
		output, err := sidecar(t, want.arguments...).CombinedOutput()
		if code := exitCode(err); code != want.code || !strings.Contains(string(output), want.text) {
			t.Errorf("%v: exit code %d, %s", want.arguments, code, output)
		}
	}
}

func TestFilesOfASidecarThatWasKilledGoWithTheNextStart(t *testing.T) {
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("some bytes")) }))
	defer store.Close()
	temp := t.TempDir()
	arguments := []string{"--enable-rdma=false", "-v", store.URL, "--temp-dir", temp}
	files := func() int {
		all, err := filepath.Glob(filepath.Join(temp, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	ask := func(address string) {
		reply, err := http.Get("http://" + address + "/read?use_temp_file=true&file_id=3,01637037d6")
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		if reply.Header.Get("X-Temp-File") == "" {
			t.Fatalf("no file: %s, %v", reply.Status, reply.Header)
		}
	}
	killed, address := serving(t, arguments...)
	ask(address)
	living, address := serving(t, arguments...)
	ask(address)
	if files() != 2 {
		t.Fatalf("%d files; a sidecar that lives lost its own", files())
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	last, _ := serving(t, arguments...)
	if files() != 1 {
		t.Errorf("%d files are left", files())
	}
	for _, command := range []*exec.Cmd{living, last} {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}
