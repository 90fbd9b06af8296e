package rde

import (
	"os"
	"testing"
)

// threads of this process.
func threads(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("no /proc/self/task")
	}
	return len(list)
}
