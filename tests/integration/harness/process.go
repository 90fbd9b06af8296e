// Package harness starts the real programs, waits until they are ready, and ends them by their id.
package harness

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience bounds everything that could hang. It is a watchdog, never an expectation.
const Patience = 60 * time.Second

// Process is a program of the build that runs until the test ends.
type Process struct {
	t       *testing.T
	cmd     *exec.Cmd
	Ready   map[string]string // the words KEY=VALUE of its ready line
	mu      sync.Mutex
	log     bytes.Buffer
	readyCh chan struct{}
	done    chan struct{}
	err     error
}

// Program is the path of a built program; the test is skipped where it was not built.
func Program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("RDE_BIN_DIR")
	if dir == "" {
		dir = filepath.Join(Root(t), "build", "bin")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built: ./run build makes it", path)
	}
	return path
}

// Root is the top of the checkout.
func Root(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Start runs a program and waits for its line "ready KEY=VALUE …".
func Start(t *testing.T, name string, args ...string) *Process {
	t.Helper()
	p := Spawn(t, name, args...)
	p.AwaitReady()
	return p
}

// AwaitReady waits for the line "ready KEY=VALUE …".
func (p *Process) AwaitReady() {
	p.t.Helper()
	select {
	case <-p.readyCh:
	case <-p.done:
		p.t.Fatalf("%s ended before it was ready: %v\n%s", p.cmd.Path, p.err, p.Log())
	case <-time.After(Patience):
		p.t.Fatalf("%s did not become ready\n%s", p.cmd.Path, p.Log())
	}
}

// Spawn runs a program without waiting for it to be ready.
func Spawn(t *testing.T, name string, args ...string) *Process {
	t.Helper()
	return spawn(t, Program(t, name), args...)
}

// SpawnUnder runs a program by way of another, such as strace.
func SpawnUnder(t *testing.T, wrapper []string, name string, args ...string) *Process {
	t.Helper()
	path, err := exec.LookPath(wrapper[0])
	if err != nil {
		t.Skipf("%s is not installed", wrapper[0])
	}
	all := append(append([]string{}, wrapper[1:]...), Program(t, name))
	return spawn(t, path, append(all, args...)...)
}

func spawn(t *testing.T, path string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stderr = &lockedWriter{p: p}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	isReady := make(chan struct{})
	p.readyCh = isReady
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(out)
		lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
		for lines.Scan() {
			line := lines.Text()
			_, _ = (&lockedWriter{p: p}).Write([]byte(line + "\n"))
			if words, ok := strings.CutPrefix(line, "ready "); ok && p.Ready == nil {
				p.Ready = parse(words)
				close(isReady)
			}
		}
	}()
	go func() {
		<-read
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() { p.stop() })
	return p
}

func parse(words string) map[string]string {
	ready := map[string]string{}
	for _, word := range strings.Fields(words) {
		if key, value, ok := strings.Cut(word, "="); ok {
			ready[key] = value
		}
	}
	return ready
}

type lockedWriter struct{ p *Process }

func (w *lockedWriter) Write(text []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.p.log.Write(text)
}

// Log is what the program has printed so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// PID of the program.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program. After SIGSTOP every thread of it stands.
func (p *Process) Signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatalf("signal %v: %v", signal, err)
	}
	if signal == syscall.SIGSTOP {
		Eventually(p.t, "every thread stands", p.stands)
	}
}

// stands: on another processor a thread goes on for a while after the signal was sent.
func (p *Process) stands() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID()))
	if err != nil || len(threads) == 0 {
		p.t.Fatalf("the threads of %d: %v, %v", p.PID(), threads, err)
	}
	return !slices.ContainsFunc(threads, func(thread string) bool {
		status, err := os.ReadFile(thread)
		_, state, _ := bytes.Cut(status, []byte(") "))
		return err == nil && !bytes.HasPrefix(state, []byte("T"))
	})
}

// Kill ends the program as kill -9 does, and waits until it is gone.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Terminate sends SIGTERM and answers the exit code.
func (p *Process) Terminate() int {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	return p.Wait()
}

// Wait answers the exit code once the program has ended.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Patience):
		p.t.Fatalf("the program does not end\n%s", p.Log())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Ended tells whether the program is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *Process) stop() {
	if p.Ended() {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
		p.t.Errorf("process %d had to be killed at the end\n%s", p.PID(), p.Log())
	}
	if p.t.Failed() {
		p.t.Logf("%s:\n%s", filepath.Base(p.cmd.Path), p.Log())
	}
}
