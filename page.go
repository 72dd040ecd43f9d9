package main

import (
	"log/slog"

	"twinlog/engine/cluster"
)

// newPage makes the server of the page and its API.
func newPage(control cluster.Control, layout cluster.Layout, data string, logger *slog.Logger) (service, error) {
	return nil, nil
}
