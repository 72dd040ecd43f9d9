package main

import (
	"context"
	"log/slog"
	"strings"

	"twinlog/engine/cluster"
	"twinlog/engine/node"
	"twinlog/engine/workload"
	"twinlog/visualizer"
	"twinlog/web"
)

// pageConfig is what the page of a classroom needs, whether its nodes are in this process or not.
type pageConfig struct {
	control  cluster.Control
	listen   string
	token    string
	data     string
	clusters workload.Config // where the page's own clients find the brokers
	logger   *slog.Logger
}

// page is the server of the page and its API, with what it makes clients do.
type page struct {
	*visualizer.Server
	workloads *workload.Manager
}

func newPage(config pageConfig) (*page, error) {
	config.clusters.Logger = config.logger
	p := &page{workloads: workload.NewManager(config.clusters)}
	var err error
	p.Server, err = visualizer.New(visualizer.Config{
		Control:   config.control,
		Web:       web.Page(),
		Listen:    config.listen,
		Token:     config.token,
		Workloads: p.workloads,
		Logger:    config.logger,
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Run serves until the context ends; the workloads end before the page does.
func (p *page) Run(ctx context.Context) error { return runInOrder(ctx, p.workloads, p.Server) }

// outsideAddresses are the brokers' addresses for everybody.
func outsideAddresses(nodes []node.Config) (config workload.Config) {
	var pulsar []string
	for _, n := range nodes {
		switch n.Role {
		case node.RoleKafka:
			config.Kafka = append(config.Kafka, n.Addresses[node.PurposeKafka].Advertise())
		case node.RolePulsar:
			pulsar = append(pulsar, n.Addresses[node.PurposePulsar].Advertise())
			config.PulsarHTTP = append(config.PulsarHTTP, "http://"+n.Addresses[node.PurposeHTTP].Advertise())
		}
	}
	config.PulsarURL = pulsarURL(pulsar)
	return config
}

func pulsarURL(addresses []string) string {
	if len(addresses) == 0 {
		return ""
	}
	return "pulsar://" + strings.Join(addresses, ",")
}
