package object

import (
	"errors"
	"fmt"
	"net/http"
)

// Failure is an error that has an answer for the client of the sidecar.
type Failure struct {
	Code       int    // HTTP status
	Text       string // names the field, its value and what to do
	Size       uint64 // with 416: the size of the object
	RetryAfter string // with 429 and 503: the header's value, or ""
	// Certain says that the object's owner gave this answer, so that no other path will give a better one.
	Certain bool
	Cause   error
}

func (f *Failure) Error() string {
	if f.Cause != nil {
		return f.Text + ": " + f.Cause.Error()
	}
	return f.Text
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// PastEnd is the failure of a part that begins behind the end.
func PastEnd(offset, size uint64) *Failure {
	return &Failure{Code: http.StatusRequestedRangeNotSatisfiable, Size: size, Certain: true,
		Text: fmt.Sprintf("offset %d lies behind the end of the object (%d bytes); ask for an offset of at most its size", offset, size)}
}

// CodeOf gives the HTTP status of an error, 502 where it has none.
func CodeOf(err error) int {
	if failure, ok := errors.AsType[*Failure](err); ok {
		return failure.Code
	}
	return http.StatusBadGateway
}

// IsCertain tells whether the object's owner gave this answer.
func IsCertain(err error) bool {
	failure, ok := errors.AsType[*Failure](err)
	return ok && failure.Certain
}
