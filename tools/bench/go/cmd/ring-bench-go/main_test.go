package main

import (
	"bytes"
	"context"
	"testing"
)

func TestOptionsAreReadAndWrongOnesRefused(t *testing.T) {
	o, err := parse([]string{"--socket", "/tmp/s", "--cpu", "1", "--milliseconds", "5"})
	if err != nil || o != (options{socket: "/tmp/s", cpu: 1, milliseconds: 5}) {
		t.Errorf("parse: %+v, %v", o, err)
	}
	for _, arguments := range [][]string{{"--milliseconds", "0"}, {"--cpu", "x"}, {"more"}, {"--unknown"}} {
		if _, err := parse(arguments); err == nil {
			t.Errorf("parse(%q) took it", arguments)
		}
	}
}

func TestAnEngineThatIsNotThereIsAnError(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), options{socket: t.TempDir() + "/none", cpu: -1, milliseconds: 1}, &out); err == nil {
		t.Error("run without an engine succeeded")
	}
	if out.Len() != 0 {
		t.Errorf("it printed %q", out.String())
	}
}
