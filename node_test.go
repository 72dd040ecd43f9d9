package main

import (
	"strings"
	"testing"

	"twinlog/engine/node"
)

func TestNodeConfig(t *testing.T) {
	options := nodeOptions{
		role: node.RoleKafka, id: 2, host: "0.0.0.0", advertise: "school.example", inside: "kafka-2",
		zookeeper: []string{"ensemble-1:2181"}, pace: "classroom",
	}
	for _, c := range []struct {
		name            string
		change          func(*nodeOptions)
		purpose         string
		outside, inside node.Address
	}{
		{
			"a broker in a container has two listeners", func(*nodeOptions) {}, node.PurposeKafka,
			node.Address{Listen: "0.0.0.0:9093", Advertised: "school.example:9093"},
			node.Address{Listen: "0.0.0.0:19093", Advertised: "kafka-2:19093"},
		},
		{
			"so has Pulsar's HTTP service", func(o *nodeOptions) { o.role, o.inside = node.RolePulsar, "pulsar-2" }, node.PurposeHTTP,
			node.Address{Listen: "0.0.0.0:8081", Advertised: "school.example:8081"},
			node.Address{Listen: "0.0.0.0:18081", Advertised: "pulsar-2:18081"},
		},
		{
			"a bookie is for the inside only", func(o *nodeOptions) { o.role, o.inside = node.RoleBookie, "bookie-2" }, node.PurposeBookie,
			node.Address{Listen: "0.0.0.0:3182", Advertised: "bookie-2:3182"}, node.Address{},
		},
		{
			"a machine of its own has no inside", func(o *nodeOptions) { o.inside = "" }, node.PurposeKafka,
			node.Address{Listen: "0.0.0.0:9093", Advertised: "school.example:9093"}, node.Address{},
		},
		{
			"alone, the address is the address", func(o *nodeOptions) { o.inside, o.advertise, o.host = "", "", "127.0.0.1" }, node.PurposeKafka,
			node.Address{Listen: "127.0.0.1:9093"}, node.Address{},
		},
	} {
		changed := options
		c.change(&changed)
		config, err := changed.config()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if config.Addresses[c.purpose] != c.outside || config.Inside[c.purpose] != c.inside {
			t.Errorf("%s: outside %+v, inside %+v", c.name, config.Addresses[c.purpose], config.Inside[c.purpose])
		}
	}
}

func TestNodeConfigRefuses(t *testing.T) {
	for want, options := range map[string]nodeOptions{
		`role "broker"`: {role: "broker", id: 1},
		"ZooKeeper":     {role: node.RoleKafka, id: 1, host: "127.0.0.1", pace: "classroom"},
		"number 0":      {role: node.RoleEnsemble, host: "127.0.0.1", pace: "classroom"},
		"--peers":       {role: node.RoleEnsemble, id: 1, host: "127.0.0.1", pace: "classroom", peers: map[string]string{"first": "a:1"}},
		"peers":         {role: node.RoleEnsemble, id: 2, host: "127.0.0.1", pace: "classroom", peers: map[string]string{"1": "a:1"}},
		"no such file":  {role: node.RoleEnsemble, zooCfg: "nowhere/zoo.cfg"},
	} {
		if _, err := options.config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// In a container network hosts are called like nodes, which is how the trace knows them.
func TestNodeAtAddress(t *testing.T) {
	for address, want := range map[string]string{
		"bookie-3:3183": "bookie-3", "kafka-1:19092": "kafka-1", "10.0.0.7:3181": "10.0.0.7:3181", "zk-1:2181": "zk-1:2181", "bookie-x:1": "bookie-x:1",
	} {
		if got := nodeAtAddress(address); got != want {
			t.Errorf("%s is %s", address, got)
		}
	}
}
