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
	settings := server.Config{
		ID:                config.ID,
		Peers:             config.Peers,
		ClientAddress:     config.Addresses[PurposeZooKeeper].Listen,
		PeerAddress:       config.Addresses[PurposePeer].Listen,
		TickTime:          pace.tickTime,
		HeartbeatInterval: pace.heartbeatInterval,
		ElectionTimeout:   pace.electionTimeout,
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
