package node

import (
	"twinlog/engine/ensemble/server"
	"twinlog/engine/pulsar/bookie"
)

// maker makes a role's driver.
type maker func(config Config, pace timeouts, surroundings Surroundings) (driver, error)

// makers by role.
var makers = map[string]maker{
	RoleEnsemble: makeEnsemble,
	RoleBookie:   makeBookie,
}

func makeEnsemble(config Config, pace timeouts, surroundings Surroundings) (driver, error) {
	peers := config.Peers
	peerAddress := config.Addresses[PurposePeer].Listen
	if len(peers) < 2 {
		peers, peerAddress = nil, ""
	}
	return server.New(server.Config{
		ID:            config.ID,
		Peers:         peers,
		ClientAddress: config.Addresses[PurposeZooKeeper].Listen,
		PeerAddress:   peerAddress,

		Network: surroundings.Network,
		Disk:    surroundings.Disk,
		Tracer:  surroundings.Tracer,
		Logger:  surroundings.Logger,

		TickTime:          pace.tickTime,
		HeartbeatInterval: pace.heartbeatInterval,
		ElectionTimeout:   pace.electionTimeout,
	})
}

func makeBookie(config Config, pace timeouts, surroundings Surroundings) (driver, error) {
	address := config.Addresses[PurposeBookie]
	return bookie.New(bookie.Config{
		Address:        address.Advertise(),
		Listen:         address.Listen,
		ZooKeeper:      config.ZooKeeper,
		SessionTimeout: pace.bookieSession,

		Network: surroundings.Network,
		Disk:    surroundings.Disk,
		Tracer:  surroundings.Tracer,
		Logger:  surroundings.Logger,
	})
}
