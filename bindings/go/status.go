package rde

import "fmt"

// Status is how an operation ended. The numbers are stable and the same in every language; docs/status.md lists them.
// A Status is an error, so errors.Is(err, rde.StatusObjectNotFound) works on every error of this package.
type Status uint16

type statusInfo struct {
	name     string
	category string
	retry    bool
	meaning  string
}

// String is the stable name, such as "object_not_found".
func (s Status) String() string {
	if info, ok := statusTable[s]; ok {
		return info.name
	}
	return fmt.Sprintf("status_%d", uint16(s))
}

// Category groups statuses: io, network, ipc, request, capacity, session, security, hardware, resource, rdma, internal, none.
func (s Status) Category() string {
	if info, ok := statusTable[s]; ok {
		return info.category
	}
	return "internal"
}

// Retry says whether the same request may succeed later, or by another path.
func (s Status) Retry() bool { return statusTable[s].retry }

// Meaning is one line for a person to read.
func (s Status) Meaning() string {
	if info, ok := statusTable[s]; ok {
		return info.meaning
	}
	return "this client does not know the status; it was built before the engine"
}

// Error makes a Status an error: name and meaning.
func (s Status) Error() string { return s.String() + ": " + s.Meaning() }
