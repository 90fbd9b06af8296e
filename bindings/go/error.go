package rde

import (
	"context"
	"errors"
	"strings"
)

// Error is what every function of this package fails with. errors.Is finds its Status, and its cause (such as context.Canceled).
type Error struct {
	Op     string // what was tried: "attach", "read", …
	Status Status
	Field  string // the field that was refused, where one is to blame
	Text   string // what was wrong with it, and what to do
	Cause  error  // what lies beneath: a context's error or a system call's; may be nil
}

// ErrDetached is what accessors of a released Buffer and calls on a closed Client match with errors.Is.
var ErrDetached error = StatusDetached

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("rde: ")
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	b.WriteString(e.Status.String())
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	} else {
		b.WriteString(": " + e.Status.Meaning())
	}
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is matches the Status, and context.DeadlineExceeded where the deadline ended the request, whichever side noticed.
func (e *Error) Is(target error) bool {
	switch target := target.(type) {
	case Status:
		return e.Status == target
	default:
		return target == context.DeadlineExceeded && e.Status == StatusDeadlineExceeded
	}
}

// with names the operation; an error that has a name keeps it.
func (e *Error) with(op string) *Error {
	if e.Op != "" {
		return e
	}
	named := *e
	named.Op = op
	return &named
}

// contextError turns the end of a context into an Error.
func contextError(ctx context.Context) *Error {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Status: StatusDeadlineExceeded, Cause: cause}
	}
	return &Error{Status: StatusCancelled, Cause: cause}
}
