package node

import (
	"log/slog"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// Surroundings is all that a node touches besides its own memory and Go's time.
type Surroundings struct {
	Network fabric.Network
	Disk    disk.Disk
	Tracer  *trace.Tracer
	Logger  *slog.Logger
}
