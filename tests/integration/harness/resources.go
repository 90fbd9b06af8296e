package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Descriptors counts the open files of a process whose link contains a text; "" counts all.
func Descriptors(t *testing.T, pid int, text string) int {
	t.Helper()
	entries, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, entry := range entries {
		if link, err := os.Readlink(entry); err == nil && strings.Contains(link, text) {
			count++
		}
	}
	return count
}

// Mappings counts the mappings of a process that are of a segment.
func Mappings(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "rde-segment")
}

// StatusField reads a field of /proc/PID/status, such as "SigCgt", "VmRSS" or "Threads".
func StatusField(t *testing.T, pid int, field string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("/proc/%d/status has no %s", pid, field)
	return ""
}

// CaughtSignals is the set of signals that a process has handlers for.
func CaughtSignals(t *testing.T, pid int) uint64 {
	t.Helper()
	mask, err := strconv.ParseUint(StatusField(t, pid, "SigCgt"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask
}

// CPUTicks is the processor time of a process, in hundredths of a second.
func CPUTicks(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		t.Fatalf("cannot read /proc/%d/stat", pid)
	}
	return user + system
}

// Pause is two seconds in which a process may show what it does when nobody asks for anything.
func Pause() { time.Sleep(2 * time.Second) }
