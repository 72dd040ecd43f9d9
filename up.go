package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/media"
	"twinlog/engine/node"
	"twinlog/engine/workload"
)

// upOptions are the flags of twinlog up.
type upOptions struct {
	layout   cluster.Layout
	data     string
	pace     string
	logLevel string
	class    string
	noTrace  bool
	started  time.Time
}

// maker makes the nodes; without a trace they get no tracer, which they all can do without.
func (o upOptions) maker() cluster.Maker {
	if !o.noTrace {
		return cluster.MakeNode
	}
	return func(config node.Config, surroundings node.Surroundings) (cluster.Runnable, error) {
		surroundings.Tracer = nil
		return cluster.MakeNode(config, surroundings)
	}
}

func upCommand(started time.Time) *cobra.Command {
	options := upOptions{layout: cluster.DefaultLayout(), started: started}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the whole classroom in this process",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := untilSignalled(command.Context())
			defer stop()
			return up(ctx, options, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.data, "data", "", "directory that keeps everything; without it, a temporary one that is removed at the end")
	flags.StringVar(&options.layout.Host, "host", options.layout.Host, "address that all nodes listen on")
	flags.IntVar(&options.layout.PortOffset, "port-offset", 0, "is added to every port")
	flags.IntVar(&options.layout.Kafka, "kafka", options.layout.Kafka, "number of Kafka-mode brokers")
	flags.IntVar(&options.layout.Pulsar, "pulsar", options.layout.Pulsar, "number of Pulsar-mode brokers")
	flags.IntVar(&options.layout.Bookies, "bookies", options.layout.Bookies, "number of bookies")
	flags.IntVar(&options.layout.Ensemble, "ensemble", options.layout.Ensemble, "number of ensemble servers")
	flags.StringSliceVar(&options.layout.ZooKeeper, "zookeeper", nil, "a real ZooKeeper (HOST:PORT,…) to use instead of the ensemble")
	flags.StringVar(&options.pace, "pace", string(node.Classroom), "how long nodes wait for each other: classroom (seconds) or production (as the real systems do)")
	flags.BoolVar(&options.noTrace, "no-trace", false, "nodes record nothing, so that the page shows only which of them run; for measuring what the trace costs")
	flags.StringVar(&options.class, "class", os.Getenv("TWINLOG_CLASS"), classHelp)
	flags.StringVar(&options.logLevel, "log", "error", "what is logged to the standard error: debug, info, warn or error")
	return command
}

// sameInterrupt is how long after an interrupt another one is taken for the same.
const sameInterrupt = 300 * time.Millisecond

// untilSignalled returns a context that ends with the first interrupt; the second one ends the process.
func untilSignalled(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		// Whoever started us may have passed the same Ctrl-C on that we got ourselves.
		time.Sleep(sameInterrupt)
		for len(signals) > 0 {
			<-signals
		}
		<-signals
		fmt.Fprintln(os.Stderr, "twinlog: interrupted again, leaving at once")
		runForced()
		os.Exit(130)
	}()
	return ctx, cancel
}

// up runs the classroom until the context ends.
func up(ctx context.Context, options upOptions, out io.Writer) (err error) {
	logger, err := newLogger(options.logLevel)
	if err != nil {
		return err
	}
	options.layout.Pace = node.Pace(options.pace)
	options.layout.Host = reachableHost(options.layout.Host)
	if _, err := options.layout.Nodes(); err != nil {
		return err
	}
	data, err := openData(options.data, options.layout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.close()) }()
	if err := data.recallMembers(&options.layout); err != nil {
		return err
	}
	options.layout.Secret = rand.Text()
	nodes, err := options.layout.Nodes()
	if err != nil {
		return err
	}
	if err := checkPorts(options.layout, nodes); err != nil {
		return err
	}
	if err := data.keepFacts(options.layout); err != nil {
		return err
	}
	medium, err := media.OpenDirectory(filepath.Join(data.directory, offloadedDirectory))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, medium.Close()) }()
	run := newRunName()
	classroom, err := cluster.New(cluster.Config{
		Nodes: nodes, Fabric: fabric.NewTCP(), Run: run, Logger: logger, Make: options.maker(),
		Disk: func(name string) (disk.Disk, error) {
			files, err := disk.NewOS(filepath.Join(data.directory, name))
			if err != nil {
				return nil, err
			}
			return disk.NewVolatile(files), nil
		},
		Medium: medium,
		Members: &cluster.Members{
			Layout: options.layout, Remember: data.rememberMembers,
			Discard: func(name string) error { return data.disk.RemoveAll(name) },
		},
	})
	if err != nil {
		return err
	}
	page, err := newPage(pageConfig{
		control: classroom, listen: options.layout.Address(cluster.PortPage), data: data.directory, class: options.class, run: run, logger: logger,
		clusters: workload.Config{Now: func() workload.Config {
			nodes, err := classroom.Layout().Nodes()
			if err != nil { // it was one that runs
				logger.Error("the layout of the classroom", "error", err)
			}
			return outsideAddresses(nodes)
		}},
	})
	if err != nil {
		return err
	}
	printEndpoints(out, options, nodes, page.URL())
	return runInOrder(ctx, announcer{
		all:      []readier{classroom, page},
		ready:    func() { fmt.Fprintf(out, "ready in %.2f s\n", time.Since(options.started).Seconds()) },
		patience: 5 * time.Second,
		notYet:   func() { fmt.Fprintln(out, waitingFor(classroom.Nodes(), options.layout)) },
	}, page, classroom)
}

// waitingFor tells why a classroom is not ready yet.
func waitingFor(nodes []cluster.NodeStatus, layout cluster.Layout) string {
	var waiting []string
	for _, n := range nodes {
		if n.State != cluster.StateRunning {
			waiting = append(waiting, n.Name)
		}
	}
	if len(layout.ZooKeeper) > 0 {
		return fmt.Sprintf("still waiting for %s; does ZooKeeper answer at %s?", strings.Join(waiting, ", "), strings.Join(layout.ZooKeeper, ","))
	}
	return fmt.Sprintf("still waiting for %s; --log warn tells more", strings.Join(waiting, ", "))
}

func newLogger(level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log %s: it is one of debug, info, warn, error", level)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: least})), nil
}

// reachableHost turns "all addresses" into one that clients can be told to dial.
func reachableHost(host string) string {
	ip := net.ParseIP(host)
	if host != "" && (ip == nil || !ip.IsUnspecified()) {
		return host
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "127.0.0.1"
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() && network.IP.To4() != nil {
			return network.IP.String()
		}
	}
	return "127.0.0.1"
}

// checkPorts tries every port before anything starts.
func checkPorts(layout cluster.Layout, nodes []node.Config) error {
	type port struct{ address, purpose string }
	ports := []port{{layout.Address(cluster.PortPage), "the page"}}
	for _, config := range nodes {
		for purpose, address := range config.Addresses {
			ports = append(ports, port{address.Listen, fmt.Sprintf("%s (%s)", config.Name(), purpose)})
		}
	}
	var taken []string
	foreign := false // the host is not one of this machine
	for _, p := range ports {
		listener, err := net.Listen("tcp", p.address)
		if err != nil {
			var unresolved *net.DNSError
			foreign = foreign || errors.As(err, &unresolved) || errors.Is(err, syscall.EADDRNOTAVAIL)
			taken = append(taken, fmt.Sprintf("  %s for %s: %v", p.address, p.purpose, errors.Unwrap(err)))
			continue
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	if foreign {
		return fmt.Errorf("cannot listen on --host %s, which is no address of this machine:\n%s", layout.Host, taken[0])
	}
	if len(taken) > 0 {
		return fmt.Errorf("cannot listen on\n%s\nIs another twinlog (or Kafka, Pulsar, ZooKeeper) running? Stop it, or move all ports with --port-offset %d",
			strings.Join(taken, "\n"), layout.PortOffset+10000)
	}
	return nil
}

func printEndpoints(out io.Writer, options upOptions, nodes []node.Config, pageURL string) {
	list := func(role, purpose string) string {
		var all []string
		for _, config := range nodes {
			if config.Role == role {
				all = append(all, config.Addresses[purpose].Advertise())
			}
		}
		return strings.Join(all, ",")
	}
	coordination := list(node.RoleEnsemble, node.PurposeZooKeeper)
	if len(options.layout.ZooKeeper) > 0 {
		coordination = strings.Join(options.layout.ZooKeeper, ",") + " (a real ZooKeeper)"
	}
	type line struct{ name, value string }
	lines := []line{{"ensemble", coordination}, {"Kafka", list(node.RoleKafka, node.PurposeKafka)}}
	if options.layout.Pulsar > 0 {
		lines = append(lines, line{"Pulsar", "pulsar://" + list(node.RolePulsar, node.PurposePulsar)},
			line{"Pulsar HTTP", "http://" + list(node.RolePulsar, node.PurposeHTTP)})
	}
	lines = append(lines, line{"bookies", list(node.RoleBookie, node.PurposeBookie)})
	lines = append(lines, line{"page", pageURL})
	for _, l := range lines {
		if l.value != "" {
			fmt.Fprintf(out, "%-12s %s\n", l.name, l.value)
		}
	}
}
