package cluster_test

import (
	"maps"
	"strings"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/node"
)

// The ports are a contract: DESIGN section 9.
func TestDefaultLayout(t *testing.T) {
	nodes, err := cluster.DefaultLayout().Nodes()
	check(t, err)
	got := map[string]map[string]string{}
	for _, config := range nodes {
		got[config.Name()] = config.AddressesToTell()
		if len(config.ZooKeeper) != 3 || config.ZooKeeper[2] != "127.0.0.1:2183" || config.Peers[1] != "127.0.0.1:2888" {
			t.Errorf("%s: ensemble %v, peers %v", config.Name(), config.ZooKeeper, config.Peers)
		}
		if name := config.NodeOf("127.0.0.1:3184"); name != "bookie-4" {
			t.Errorf("127.0.0.1:3184 is %s", name)
		}
	}
	want := map[string]map[string]string{
		"ensemble-1": {"zookeeper": "127.0.0.1:2181", "peer": "127.0.0.1:2888"},
		"ensemble-2": {"zookeeper": "127.0.0.1:2182", "peer": "127.0.0.1:2889"},
		"ensemble-3": {"zookeeper": "127.0.0.1:2183", "peer": "127.0.0.1:2890"},
		"kafka-1":    {"kafka": "127.0.0.1:9092"},
		"kafka-2":    {"kafka": "127.0.0.1:9093"},
		"kafka-3":    {"kafka": "127.0.0.1:9094"},
		"pulsar-1":   {"pulsar": "127.0.0.1:6650", "http": "127.0.0.1:8080"},
		"pulsar-2":   {"pulsar": "127.0.0.1:6651", "http": "127.0.0.1:8081"},
		"bookie-1":   {"bookie": "127.0.0.1:3181"},
		"bookie-2":   {"bookie": "127.0.0.1:3182"},
		"bookie-3":   {"bookie": "127.0.0.1:3183"},
		"bookie-4":   {"bookie": "127.0.0.1:3184"},
	}
	if !maps.EqualFunc(got, want, maps.Equal[map[string]string, map[string]string]) {
		t.Errorf("the nodes are %v", got)
	}
}

func TestLayoutWithZooKeeper(t *testing.T) {
	layout := cluster.DefaultLayout()
	layout.ZooKeeper, layout.PortOffset = []string{"zk.example:2181"}, 1000
	nodes, err := layout.Nodes()
	check(t, err)
	for _, config := range nodes {
		if config.Role == node.RoleEnsemble || config.ZooKeeper[0] != "zk.example:2181" {
			t.Errorf("%s: ZooKeeper at %v", config.Name(), config.ZooKeeper)
		}
	}
	if address := nodes[0].Addresses["kafka"].Listen; address != "127.0.0.1:10092" {
		t.Errorf("kafka-1 listens on %s", address)
	}
}

func TestLayoutRefuses(t *testing.T) {
	for want, change := range map[string]func(*cluster.Layout){
		"--kafka":       func(l *cluster.Layout) { l.Kafka = 100 },
		"--ensemble 0":  func(l *cluster.Layout) { l.Ensemble = 0 },
		"--bookies 0":   func(l *cluster.Layout) { l.Bookies = 0 },
		"--port-offset": func(l *cluster.Layout) { l.PortOffset = 60_000 },
		"--zookeeper":   func(l *cluster.Layout) { l.ZooKeeper = []string{"nowhere"} },
		"pace":          func(l *cluster.Layout) { l.Pace = "slow" },
	} {
		layout := cluster.DefaultLayout()
		change(&layout)
		if _, err := layout.Nodes(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
