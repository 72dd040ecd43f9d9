package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"twinlog/engine/attach"
	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/gossip"
	"twinlog/engine/media"
	"twinlog/engine/node"
	"twinlog/engine/trace"
)

const (
	// insidePorts is how far the port of a listener for the inside of a container network is from the one for the outside.
	insidePorts = 10000
	// portControl is where an agent listens.
	portControl = 7701
	// roleVisualizer is the role of a process that has the page and no node.
	roleVisualizer = "visualizer"
	// traceCapacity bounds the records that wait for the agent.
	traceCapacity = 1 << 14
	// startAgain is how long a node that could not start waits before it tries again.
	startAgain = time.Second
	// stopPatience is how long a node has for its orderly shutdown before it is killed.
	stopPatience = 10 * time.Second
)

// nodeOptions are the flags of twinlog node.
type nodeOptions struct {
	role      string
	id        int
	data      string
	host      string
	advertise string
	inside    string
	offload   string
	peers     map[string]string
	zookeeper []string
	zooCfg    string
	counts    map[string]int
	join      []string
	pace      string
	logLevel  string
	token     string
	class     string
	started   time.Time
}

func nodeCommand(started time.Time) *cobra.Command {
	options := nodeOptions{started: started}
	command := &cobra.Command{
		Use:   "node",
		Short: "Run one node, for containers and real machines",
		Long: `Run one node, for containers and real machines.

A node listens on --host at the port that it would have in "twinlog up": kafka 2 at 9093, for example. Others are told --advertise.

In a container network, --inside is the node's name there. A broker then has a second listener, 10000 ports higher, for nodes and
clients inside, while --advertise is what clients outside dial through the published port. With --inside or --join the process also
finds the others by gossip (port 7946) and takes orders from the process with the page (port 7701). Do not publish those two.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := untilSignalled(command.Context())
			defer stop()
			return runNode(ctx, options, command)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.role, "role", "", "ensemble, kafka, pulsar, bookie or visualizer")
	flags.IntVar(&options.id, "id", 1, "the number in the node's name; a Kafka-mode broker's id")
	flags.StringVar(&options.data, "data", "", "directory of this node; without it, a temporary one that is removed at the end")
	flags.StringVar(&options.host, "host", "127.0.0.1", "address to listen on")
	flags.StringVar(&options.advertise, "advertise", "", "host that others are told to dial; --inside or --host if it is not given")
	flags.StringVar(&options.offload, "offload", "", "directory that all Pulsar-mode brokers share, to offload sealed ledgers to; without it nothing can be offloaded")
	flags.StringVar(&options.inside, "inside", "", "this node's host name within its container network")
	flags.StringToStringVar(&options.peers, "peers", nil, "peer addresses of all ensemble servers: 1=HOST:PORT,2=HOST:PORT,…")
	flags.StringSliceVar(&options.zookeeper, "zookeeper", nil, "the ensemble, or a real ZooKeeper: HOST:PORT,…")
	flags.StringVar(&options.zooCfg, "zoo-cfg", "", "an ensemble server's settings in ZooKeeper's own format, instead of the other flags")
	flags.StringToIntVar(&options.counts, "counts", nil, "how many nodes of a role the classroom has, for defaults: kafka=3,bookie=4")
	flags.StringSliceVar(&options.join, "join", nil, "hosts of other processes, to find the rest by gossip")
	flags.StringVar(&options.pace, "pace", string(node.Classroom), "classroom or production")
	flags.StringVar(&options.logLevel, "log", "info", "what is logged to the standard error: debug, info, warn or error")
	flags.StringVar(&options.token, "token", os.Getenv("TWINLOG_TOKEN"), "the teacher's token for the page; a random one if it is not given (or in TWINLOG_TOKEN)")
	flags.StringVar(&options.class, "class", os.Getenv("TWINLOG_CLASS"), classHelp)
	_ = command.MarkFlagRequired("role")
	return command
}

func runNode(ctx context.Context, options nodeOptions, command *cobra.Command) error {
	logger, err := newLogger(options.logLevel)
	if err != nil {
		return err
	}
	if options.role == roleVisualizer {
		return runVisualizer(ctx, options, logger, command.OutOrStdout())
	}
	config, err := options.config()
	if err != nil {
		return err
	}
	files, err := options.files(config)
	if err != nil {
		return err
	}
	directory, err := openDirectory(files)
	if err != nil {
		return err
	}
	around := surroundings{disk: directory.disk}
	err = around.openMedium(options.offload)
	var p *nodeProcess
	if err == nil {
		p, err = newNodeProcess(options, config, around, logger)
	}
	if err == nil {
		err = p.run(ctx, func() {
			fmt.Fprintf(command.OutOrStdout(), "%s ready in %.2f s\n", config.Name(), time.Since(options.started).Seconds())
		})
	}
	return errors.Join(err, around.close(), directory.close())
}

// surroundings are where the node keeps its own, and what it shares with others.
type surroundings struct {
	disk   disk.Disk
	medium *media.Directory // nil: there is none
}

func (s *surroundings) openMedium(directory string) (err error) {
	if directory != "" {
		s.medium, err = media.OpenDirectory(directory)
	}
	return err
}

func (s *surroundings) close() error {
	if s.medium == nil {
		return nil
	}
	return s.medium.Close()
}

// files says where the node keeps its own: what --data says, or what a ZooKeeper configuration says.
func (o nodeOptions) files(config node.Config) (string, error) {
	if config.Zoo == nil {
		return o.data, nil
	}
	if o.data != "" {
		return "", fmt.Errorf("--data and --zoo-cfg both name a directory; dataDir in %s is enough", o.zooCfg)
	}
	return config.Zoo.DataDir, nil
}

// config makes the node's config out of the flags.
func (o nodeOptions) config() (node.Config, error) {
	config := node.Config{
		Role: o.role, ID: o.id, ZooKeeper: o.zookeeper, Pace: node.Pace(o.pace), Counts: o.counts, NodeOf: nodeAtAddress,
		Addresses: map[string]node.Address{}, Inside: map[string]node.Address{}, Peers: map[int]string{},
	}
	if o.zooCfg != "" {
		zoo, err := server.ReadZooConfig(o.zooCfg, os.Getenv("SERVER_JVMFLAGS"), os.ReadFile)
		if err != nil {
			return config, err
		}
		config.Zoo, config.ID = &zoo, zoo.Config.ID
		return config, config.Validate()
	}
	purposes, known := node.Purposes(o.role)
	if !known {
		return config, config.Validate()
	}
	for _, purpose := range purposes {
		port := cluster.FirstPort(o.role, purpose) + o.id - 1
		outside := node.Address{Listen: hostPort(o.host, port)}
		// Brokers tell clients where to go. Everybody else is only dialled by who knows the address.
		tellsClients := o.role == node.RoleKafka || o.role == node.RolePulsar
		switch {
		case o.inside != "" && tellsClients:
			config.Inside[purpose] = node.Address{Listen: hostPort(o.host, port+insidePorts), Advertised: hostPort(o.inside, port+insidePorts)}
		case o.inside != "":
			outside.Advertised = hostPort(o.inside, port)
		}
		if o.advertise != "" && (tellsClients || o.inside == "") {
			outside.Advertised = hostPort(o.advertise, port)
		}
		config.Addresses[purpose] = outside
	}
	for number, address := range o.peers {
		id, err := strconv.Atoi(number)
		if err != nil {
			return config, fmt.Errorf("--peers %s=%s: the number of a server is missing", number, address)
		}
		config.Peers[id] = address
	}
	return config, config.Validate()
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// nodeAtAddress names a node by its host, where hosts are called like nodes, as they are in a container network.
func nodeAtAddress(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil && isNodeName(host) {
		return host
	}
	return address
}

func isNodeName(host string) bool {
	role, number, found := strings.Cut(host, "-")
	if !found {
		return false
	}
	_, isRole := node.Purposes(role)
	_, err := strconv.Atoi(number)
	return isRole && err == nil
}

// nodeProcess is one node with what lets it be found and told from outside.
type nodeProcess struct {
	slot   *cluster.Slot
	logger *slog.Logger
	alone  bool           // nobody is looked for
	agent  *attach.Agent  // nil when alone
	gossip *gossip.Gossip // nil when alone
	fabric *fabric.Fabric
}

func newNodeProcess(options nodeOptions, config node.Config, around surroundings, logger *slog.Logger) (*nodeProcess, error) {
	run := newRunName()
	p := &nodeProcess{logger: logger, fabric: fabric.NewTCP(), alone: options.inside == "" && len(options.join) == 0}
	for _, address := range append(append([]string{}, options.zookeeper...), valuesOf(options.peers)...) {
		if host, _, err := net.SplitHostPort(address); err == nil && isNodeName(host) && host != config.Name() {
			p.fabric.Know(host, host)
		}
	}
	slot := cluster.SlotConfig{
		Node: config, Fabric: p.fabric, Disk: disk.NewVolatile(around.disk), Logger: logger, Tracer: trace.NewTracer(run, config.Name(), traceCapacity),
	}
	if around.medium != nil {
		slot.Medium = around.medium
	}
	p.slot = cluster.NewSlot(slot)
	if p.alone {
		return p, nil
	}
	control, err := net.Listen("tcp", hostPort(options.host, portControl))
	if err != nil {
		return nil, fmt.Errorf("listening for orders: %w", err)
	}
	p.agent = attach.NewAgent(attach.AgentConfig{Slot: p.slot, Fabric: p.fabric, Run: run, Listener: control})
	name := options.inside
	if name == "" {
		name = options.host
	}
	inside := config.AddressesToTell()
	for purpose, address := range config.Inside {
		inside[purpose] = address.Advertise()
	}
	p.gossip, err = newGossip(options, gossip.Process{
		Name: config.Name(), Run: run, Role: config.Role, ID: config.ID, Control: hostPort(name, portControl), Addresses: inside,
	}, logger)
	if err != nil {
		return nil, errors.Join(err, control.Close())
	}
	return p, nil
}

func valuesOf(all map[string]string) (values []string) {
	for _, value := range all {
		values = append(values, value)
	}
	return values
}

func newGossip(options nodeOptions, self gossip.Process, logger *slog.Logger) (*gossip.Gossip, error) {
	return gossip.New(gossip.Config{
		Self: self, Bind: hostPort(options.host, cluster.PortGossip), Seeds: options.join,
		Quick: node.Pace(options.pace) != node.Production, Logger: logger,
	})
}

// run lives until the context ends. The node ends first, so that the page still hears how.
func (p *nodeProcess) run(ctx context.Context, ready func()) error {
	around := []runner{nodeService{p, ready}}
	if !p.alone {
		around = append(around, p.agent, gossipService{p.gossip, p.fabric, p.slot.Name()})
	}
	return runInOrder(ctx, around...)
}

// nodeService starts the node, again and again if it has to wait for others, and ends it.
type nodeService struct {
	*nodeProcess
	ready func()
}

func (s nodeService) Run(ctx context.Context) error {
	err := s.start(ctx)
	if err == nil && ctx.Err() == nil {
		s.ready()
		<-ctx.Done()
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	return errors.Join(err, s.slot.Close(patience))
}

func (s nodeService) start(ctx context.Context) error {
	for {
		err := s.slot.Start(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if s.alone {
			return err
		}
		// Others may have to come up first; meanwhile somebody may give orders.
		s.logger.Warn("the node did not start, trying again", "node", s.slot.Name(), "error", err)
		select {
		case <-time.After(startAgain):
		case <-ctx.Done():
			return nil
		}
		if s.slot.Status().State != cluster.StateFailed {
			return nil
		}
	}
}

// gossipService also tells the fabric which node is behind which address.
type gossipService struct {
	*gossip.Gossip
	fabric *fabric.Fabric
	self   string
}

func (s gossipService) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Gossip.Run(ctx) }()
	for {
		changed := s.Changed()
		for _, process := range s.Processes() {
			if process.Name != s.self && process.Control != "" {
				s.fabric.Know(process.Name, process.Name)
				s.fabric.Know(process.Host, process.Name)
			}
		}
		select {
		case <-changed:
		case err := <-ended:
			return err
		}
	}
}
