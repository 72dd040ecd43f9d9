package workload

import "errors"

var (
	// ErrInvalid: the specification cannot be run; the error around it says what is wrong with it.
	ErrInvalid = errors.New("not a workload that can be run")
	// ErrTooMany: as many workloads run as may.
	ErrTooMany = errors.New("too many workloads")
	// ErrUnknown: no workload of that id.
	ErrUnknown = errors.New("no such workload")
)
