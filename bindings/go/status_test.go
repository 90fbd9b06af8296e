package rde

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAnErrorIsItsStatusAndItsCause(t *testing.T) {
	err := fmt.Errorf("serving: %w", &Error{Op: "read", Status: StatusObjectNotFound, Cause: context.Canceled})
	if !errors.Is(err, StatusObjectNotFound) || errors.Is(err, StatusIoError) || !errors.Is(err, context.Canceled) {
		t.Fatal("errors.Is does not see what is there")
	}
}

func TestADeadlineIsOneWhicheverSideNoticed(t *testing.T) {
	if !errors.Is(&Error{Status: StatusDeadlineExceeded}, context.DeadlineExceeded) {
		t.Fatal("the engine's deadline is not context.DeadlineExceeded")
	}
	if errors.Is(&Error{Status: StatusCancelled}, context.DeadlineExceeded) {
		t.Fatal("a cancelled request is no deadline")
	}
}

func TestAnErrorNamesOperationFieldAndText(t *testing.T) {
	err := &Error{Op: "read", Status: StatusLengthZero, Field: "length", Text: "0: want 1 to 4096"}
	if got := err.Error(); got != "rde: read: length_zero: length: 0: want 1 to 4096" {
		t.Fatalf("got %q", got)
	}
}

func TestEveryStatusHasNameCategoryAndMeaning(t *testing.T) {
	for s := range statusTable {
		if s.String() == "" || s.Category() == "" || s.Meaning() == "" {
			t.Errorf("status %d lacks something", s)
		}
	}
}

func TestAnUnknownStatusIsStillReadable(t *testing.T) {
	s := Status(54321)
	if s.String() != "status_54321" || s.Retry() || s.Category() != "internal" || !strings.Contains(s.Error(), "does not know") {
		t.Fatalf("got %v", s.Error())
	}
}
