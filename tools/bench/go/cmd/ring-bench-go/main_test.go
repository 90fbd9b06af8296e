package main

import (
	"bytes"
	"context"
	"testing"
	"time"
)

func TestOptionsAreReadAndWrongOnesRefused(t *testing.T) {
	o, err := parse([]string{"--socket", "/tmp/s", "--cpu", "1", "--milliseconds", "5"})
	if err != nil || o != (options{socket: "/tmp/s", cpu: 1, milliseconds: 5, goroutines: 1, channels: 1}) {
		t.Errorf("parse: %+v, %v", o, err)
	}
	for _, arguments := range [][]string{{"--milliseconds", "0"}, {"--cpu", "x"}, {"--goroutines", "0"}, {"more"}, {"--unknown"}} {
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

func TestAReportHasAllReadsAndTheFewestOfOneGoroutine(t *testing.T) {
	got, err := report([][]float64{{1, 2, 3}, {4}}, 2*time.Second)
	if err != nil || len(got["samples"]) != 4 || got["rate"][0] != 2 || got["fewest"][0] != 1 || got["threads"][0] < 1 {
		t.Errorf("report: %v, %v", got, err)
	}
	if _, err := report([][]float64{{}}, time.Second); err == nil {
		t.Error("report took a run without a read")
	}
}

// A context whose timer is late, as among ten thousand goroutines.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }

func TestTheTimeIsOverWhenTheDeadlineHasPassedWhateverTheTimerSays(t *testing.T) {
	now := time.Now()
	late := lateContext{context.Background(), now}
	if late.Err() != nil || !isOver(late, now) {
		t.Error("a deadline that has passed does not end the reads")
	}
	if isOver(late, now.Add(-time.Nanosecond)) || isOver(context.Background(), now) {
		t.Error("the reads end before their time")
	}
	ended, stop := context.WithCancel(context.Background())
	stop()
	if !isOver(ended, now) {
		t.Error("a context that was cancelled does not end the reads")
	}
}
