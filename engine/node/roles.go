package node

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"time"

	"twinlog/engine/ensemble/server"
	kafka "twinlog/engine/kafka/broker"
	"twinlog/engine/pulsar/admin"
	"twinlog/engine/pulsar/bookie"
	pulsar "twinlog/engine/pulsar/broker"
)

// maker makes a role's driver.
type maker func(config Config, pace timeouts, surroundings Surroundings) (driver, error)

// makers by role.
var makers = map[string]maker{
	RoleEnsemble: makeEnsemble,
	RoleKafka:    makeKafka,
	RolePulsar:   makePulsar,
	RoleBookie:   makeBookie,
}

func makeEnsemble(config Config, pace timeouts, surroundings Surroundings) (driver, error) {
	settings := server.Config{
		ID:                config.ID,
		Peers:             config.Peers,
		ClientAddress:     config.Addresses[PurposeZooKeeper].Listen,
		PeerAddress:       config.Addresses[PurposePeer].Listen,
		TickTime:          pace.tickTime,
		HeartbeatInterval: pace.heartbeatInterval,
		ElectionTimeout:   pace.electionTimeout,
	}
	if config.Secret != "" {
		settings.ReconfigEnabled, settings.SuperDigest = true, "super:"+server.Digest("super:"+config.Secret)
	}
	if len(config.Peers) < 2 { // alone, it talks to nobody
		settings.Peers, settings.PeerAddress = nil, ""
	}
	if config.Zoo != nil {
		settings = config.Zoo.Config
	}
	settings.Network = surroundings.Network
	settings.Disk = surroundings.Disk
	settings.Tracer = surroundings.Tracer
	settings.Logger = surroundings.Logger
	return server.New(settings)
}

// insideListener is the name of a broker's second listener, for its container network.
const insideListener = "INSIDE"

func makeKafka(config Config, pace timeouts, surroundings Surroundings) (driver, error) {
	outside, err := kafkaListener("PLAINTEXT", config.Addresses[PurposeKafka])
	if err != nil {
		return nil, err
	}
	settings := kafka.Config{
		BrokerID:  int32(config.ID),
		Listeners: []kafka.ListenerConfig{outside},
		ZooKeeper: config.ZooKeeper,
		Properties: map[string]string{
			"zookeeper.session.timeout.ms":            milliseconds(pace.kafkaSession),
			"replica.lag.time.max.ms":                 milliseconds(pace.replicaLagMax),
			"group.initial.rebalance.delay.ms":        milliseconds(pace.groupInitialDelay),
			"controlled.shutdown.retry.backoff.ms":    milliseconds(pace.shutdownBackoff),
			"offsets.topic.num.partitions":            strconv.Itoa(pace.offsetsPartitions),
			"leader.imbalance.check.interval.seconds": strconv.Itoa(int(pace.leaderRebalance.Seconds())),
			"log.retention.check.interval.ms":         milliseconds(pace.retentionCheck),
		},
		Network: surroundings.Network,
		Disk:    surroundings.Disk,
		Tracer:  surroundings.Tracer,
		Logger:  surroundings.Logger,
	}
	if brokers := config.Counts[RoleKafka]; brokers > 0 { // a small classroom cannot have as many copies as Kafka wants
		settings.Properties["offsets.topic.replication.factor"] = strconv.Itoa(min(3, brokers))
	}
	if address, ok := config.Inside[PurposeKafka]; ok {
		inside, err := kafkaListener(insideListener, address)
		if err != nil {
			return nil, err
		}
		settings.Listeners = append(settings.Listeners, inside)
		settings.InterBrokerListener = insideListener
	}
	return kafka.New(settings)
}

func kafkaListener(name string, address Address) (kafka.ListenerConfig, error) {
	host, portName, err := net.SplitHostPort(address.Advertise())
	if err != nil {
		return kafka.ListenerConfig{}, err
	}
	port, err := strconv.Atoi(portName)
	if err != nil {
		return kafka.ListenerConfig{}, fmt.Errorf("address %s: the port is no number", address.Advertise())
	}
	return kafka.ListenerConfig{Name: name, Address: address.Listen, AdvertisedHost: host, AdvertisedPort: port}, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func makePulsar(config Config, pace timeouts, surroundings Surroundings) (driver, error) {
	endpoint := func(addresses map[string]Address) pulsar.Endpoint {
		return pulsar.Endpoint{
			ListenPulsar: addresses[PurposePulsar].Listen, AdvertisedPulsar: addresses[PurposePulsar].Advertise(),
			ListenHTTP: addresses[PurposeHTTP].Listen, AdvertisedHTTP: addresses[PurposeHTTP].Advertise(),
		}
	}
	settings := pulsar.Config{
		BrokerID:  config.ID,
		Endpoint:  endpoint(config.Addresses),
		ZooKeeper: config.ZooKeeper,
		Admin:     admin.Handler,
		NodeOf:    config.NodeOf,

		SessionTimeout:    pace.pulsarSession,
		InactiveTopicsFor: pace.pulsarInactiveTopic,
		LedgerEntries:     cmp.Or(config.LedgerEntries, pace.ledgerEntries),
		LedgerRollover:    pace.ledgerRollover,

		OffloadDeletionLag: pace.offloadDeletionLag,

		Network: surroundings.Network,
		Disk:    surroundings.Disk,
		Medium:  surroundings.Medium,
		Tracer:  surroundings.Tracer,
		Logger:  surroundings.Logger,
	}
	if bookies := config.Counts[RoleBookie]; bookies > 0 { // ledgers cannot be on more bookies than there are
		settings.Ensemble, settings.WriteQuorum, settings.AckQuorum = min(3, bookies), min(2, bookies), min(2, bookies)
	}
	if len(config.Inside) > 0 {
		inside := endpoint(config.Inside)
		settings.Internal = &inside
	}
	return pulsar.New(settings)
}

func makeBookie(config Config, pace timeouts, surroundings Surroundings) (driver, error) {
	address := config.Addresses[PurposeBookie]
	return bookie.New(bookie.Config{
		Address:        address.Advertise(),
		Listen:         address.Listen,
		ZooKeeper:      config.ZooKeeper,
		SessionTimeout: pace.bookieSession,

		DiskCheckInterval:       pace.bookieDiskCheck,
		AutoRecovery:            true,
		LostBookieRecoveryDelay: pace.lostBookieRecovery,
		OpenLedgerGrace:         pace.openLedgerGrace,

		Network: surroundings.Network,
		Disk:    surroundings.Disk,
		Tracer:  surroundings.Tracer,
		Logger:  surroundings.Logger,
	})
}
