package node_test

import (
	"strings"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/node"
)

// Every node of the default classroom can be made at every pace, with and without an inside.
func TestEveryRoleCanBeMade(t *testing.T) {
	for _, pace := range []node.Pace{node.Classroom, node.Production} {
		layout := cluster.DefaultLayout()
		layout.Pace = pace
		nodes, err := layout.Nodes()
		if err != nil {
			t.Fatal(err)
		}
		for _, config := range nodes {
			for _, hasInside := range []bool{false, true} {
				config.Inside = nil
				if hasInside && (config.Role == node.RoleKafka || config.Role == node.RolePulsar) {
					config.Inside = map[string]node.Address{}
					for purpose := range config.Addresses {
						config.Inside[purpose] = node.Address{Listen: "0.0.0.0:19092", Advertised: config.Name() + ":19092"}
					}
				}
				surroundings := node.Surroundings{Network: fabric.NewMemory().Of(config.Name()), Disk: disk.NewMemory()}
				if _, err := node.New(config, surroundings); err != nil {
					t.Errorf("%s at pace %s, with an inside %v: %v", config.Name(), pace, hasInside, err)
				}
			}
		}
	}
}

func TestValidate(t *testing.T) {
	good := func() node.Config {
		return node.Config{
			Role: node.RoleKafka, ID: 1, Pace: node.Classroom, ZooKeeper: []string{"127.0.0.1:2181"},
			Addresses: map[string]node.Address{node.PurposeKafka: {Listen: "127.0.0.1:9092"}},
		}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*node.Config){
		`role "proxy"`:         func(c *node.Config) { c.Role = "proxy" },
		"number 256":           func(c *node.Config) { c.ID = 256 },
		"no address for kafka": func(c *node.Config) { c.Addresses = nil },
		"not for this role":    func(c *node.Config) { c.Addresses[node.PurposeHTTP] = node.Address{Listen: "127.0.0.1:80"} },
		`address "9092"`:       func(c *node.Config) { c.Addresses[node.PurposeKafka] = node.Address{Listen: "9092"} },
		"no ZooKeeper server":  func(c *node.Config) { c.ZooKeeper = nil },
		`pace "hasty"`:         func(c *node.Config) { c.Pace = "hasty" },
		`address "kafka-1" for kaf`: func(c *node.Config) {
			c.Inside = map[string]node.Address{node.PurposeKafka: {Listen: "0.0.0.0:1", Advertised: "kafka-1"}}
		},
	} {
		config := good()
		change(&config)
		if err := config.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
