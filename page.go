package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/node"
	"twinlog/engine/situation"
	"twinlog/engine/workload"
	"twinlog/engine/world"
	"twinlog/labs"
	"twinlog/labs/action"
	"twinlog/labs/catalogue"
	"twinlog/visualizer"
	"twinlog/visualizer/store"
	"twinlog/web"
)

// pageConfig is what the page of a classroom needs, whether its nodes are in this process or not.
type pageConfig struct {
	control  cluster.Control
	listen   string
	token    string
	data     string // directory of the page's database
	class    string // whose students work here; see labs.Config
	run      string
	clusters workload.Config // where the page's own clients find the brokers
	logger   *slog.Logger
}

// page is the server of the page and its API, with what it makes clients do and what it remembers.
type page struct {
	*visualizer.Server
	workloads  *workload.Manager
	situations *situation.Player
	labs       *labs.Service
	store      *store.Store
	recording  *store.Recording
}

// classHelp tells of the flag that names the class.
const classHelp = "name of the class whose students do the labs here: with it and their own names their values are drawn, others in every class (or in TWINLOG_CLASS)"

// databaseFile is where runs and the students' progress are kept.
const databaseFile = "visualizer.db"

func newPage(config pageConfig) (p *page, err error) {
	config.clusters.Logger = config.logger
	p = &page{workloads: workload.NewManager(config.clusters)}
	if p.store, err = store.Open(filepath.Join(config.data, databaseFile)); err != nil {
		return nil, err
	}
	if p.recording, err = p.store.Record(context.Background(), config.run); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	administrator := administration.New(func() administration.Addresses {
		clusters := config.clusters.Present()
		return administration.Addresses{Kafka: clusters.Kafka, PulsarAdmin: clusters.PulsarHTTP}
	})
	p.Server, err = visualizer.New(visualizer.Config{
		Control:        config.control,
		Web:            web.Page(),
		Sources:        sources,
		Listen:         config.listen,
		Token:          config.token,
		Workloads:      p.workloads,
		Administration: administrator,
		Situations: func(observe func(context.Context) (*world.State, error)) visualizer.Situations {
			p.situations = situation.New(situation.Config{
				Control: config.control, Administration: administrator, Workloads: p.workloads, World: observe,
			})
			return p.situations
		},
		Recorder: p.recording,
		Runs:     p.store,
		Run:      config.run,
		Labs: func(trace labs.Trace) (visualizer.Labs, error) {
			p.labs, err = labs.New(labs.Config{
				Catalogue: catalogue.Files, Class: config.class, Addresses: actionAddresses(config.clusters.Present()), Nodes: config.control, Trace: trace, Progress: p.store,
				Logger: config.logger,
			})
			return p.labs, err
		},
		Logger: config.logger,
	})
	if err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	return p, nil
}

// Run serves until the context ends. The workloads end before the page does, and the database last.
func (p *page) Run(ctx context.Context) error {
	err := runInOrder(ctx, p.situations, p.workloads, p.Server)
	p.labs.Close()
	return errors.Join(err, p.recording.End(), p.store.Close())
}

func actionAddresses(clusters workload.Config) action.Addresses {
	return action.Addresses{Kafka: clusters.Kafka, PulsarURL: clusters.PulsarURL, PulsarAdmin: clusters.PulsarHTTP}
}

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
