package main

import (
	"log/slog"

	"twinlog/engine/cluster"
	"twinlog/visualizer"
	"twinlog/web"
)

// newPage makes the server of the page and its API.
func newPage(control cluster.Control, layout cluster.Layout, data string, logger *slog.Logger) (*visualizer.Server, error) {
	return visualizer.New(visualizer.Config{
		Control: control,
		Web:     web.Page(),
		Listen:  layout.Address(cluster.PortPage),
		Logger:  logger,
	})
}
