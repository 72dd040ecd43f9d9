package node

import (
	"log/slog"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/media"
	"twinlog/engine/trace"
)

// Surroundings is all that a node touches besides its own memory and Go's time.
type Surroundings struct {
	Network fabric.Network
	Disk    disk.Disk
	// Medium is what all Pulsar-mode brokers offload sealed ledgers to; nil: nothing can be offloaded.
	Medium media.Medium
	Tracer *trace.Tracer
	Logger *slog.Logger
}
