package workload

import (
	"twinlog/engine/sentence"
)

var (
	// ErrInvalid: the specification cannot be run; the error around it says what is wrong with it.
	ErrInvalid = sentence.Error(nil, "notAWorkload", "not a workload that can be run")
	// ErrTooMany: as many workloads run as may.
	ErrTooMany = sentence.Error(nil, "tooManyWorkloads", "too many workloads")
	// ErrUnknown: no workload of that id.
	ErrUnknown = sentence.Error(nil, "unknownWorkload", "no such workload")
)
