package interop

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/go-zookeeper/zk"
)

func connectZK(t *testing.T, c *classroom) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(c.zookeeper(), 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// createBoth creates a topic in both modes: a bundle gets an owner with its first topic.
func createBoth(t *testing.T, c *classroom) {
	t.Helper()
	createTopic(t, c, "browsed", 2)
	producer, err := pulsarClient(t, c).CreateProducer(pulsar.ProducerOptions{Topic: "browsed"})
	if err != nil {
		t.Fatal(err)
	}
	producer.Close()
}

// TestGoZooKeeperBrowsesAndWatches: a student sees both engines' metadata, and a watch on /controller fires when the controller is killed.
func TestGoZooKeeperBrowsesAndWatches(t *testing.T) {
	c := up(t)
	conn := connectZK(t, c)
	createBoth(t, c)
	for path, want := range map[string][]string{
		"/brokers/ids":           {"1", "2", "3"},
		"/brokers/topics":        {"browsed"},
		"/ledgers/available":     nil,
		"/loadbalance/brokers":   nil,
		"/namespace/public":      nil,
		"/admin/policies/public": {"default"},
	} {
		children, _, err := conn.Children(path)
		if err != nil || len(children) == 0 {
			t.Errorf("%s: %v, %v", path, children, err)
		}
		for _, child := range want {
			if !slices.Contains(children, child) {
				t.Errorf("%s has %v, not %s", path, children, child)
			}
		}
	}
	data, stat, events, err := conn.GetW("/controller")
	if err != nil || stat.EphemeralOwner == 0 {
		t.Fatalf("/controller: %v, %+v", err, stat)
	}
	var broker int
	if _, after, found := strings.Cut(string(data), `"brokerid":`); !found {
		t.Fatalf("/controller holds %s", data)
	} else if _, err := fmt.Sscanf(after, "%d", &broker); err != nil {
		t.Fatalf("/controller holds %s", data)
	}
	c.act(fmt.Sprintf("kafka-%d", broker), "kill")
	select {
	case event := <-events:
		if event.Type != zk.EventNodeDeleted || event.Path != "/controller" {
			t.Errorf("the watch told %+v", event)
		}
	case <-time.After(30 * time.Second):
		t.Error("the watch did not fire within 30 s")
	}
}

// TestZkCli runs Apache's command line client, as Debian packages it.
func TestZkCli(t *testing.T) {
	cli := "/usr/share/zookeeper/bin/zkCli.sh"
	if _, err := os.Stat(cli); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("Debian's zookeeper package is not installed")
		}
		t.Skip("Debian's zookeeper package is not installed")
	}
	c := up(t)
	createBoth(t, c)
	var controller int
	eventually(t, 10*time.Second, func() error {
		if controller = c.world().State.Kafka.Controller.Broker; controller < 1 {
			return fmt.Errorf("no controller is known")
		}
		return nil
	})
	command := exec.CommandContext(t.Context(), cli, "-server", c.zookeeper()[0])
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	session := &classroom{t: t}
	command.Stdout, command.Stderr = writer(session.write), writer(session.write)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Process.Kill()
	expect := func(send, want string) {
		t.Helper()
		fmt.Fprintln(stdin, send)
		eventually(t, 30*time.Second, func() error {
			if !strings.Contains(session.log(), want) {
				return fmt.Errorf("after %q zkCli does not say %q:\n%s", send, want, session.log())
			}
			return nil
		})
	}
	expect("ls /brokers/ids", "[1, 2, 3]")
	expect("get /brokers/topics/browsed", `"partitions":`)
	expect("ls /ledgers", "available")
	expect("ls /loadbalance", "brokers")
	expect("ls /namespace/public", "[default]")
	expect("get -w /controller", fmt.Sprintf(`"brokerid":%d`, controller))
	c.act(fmt.Sprintf("kafka-%d", controller), "kill")
	expect("", "type:NodeDeleted path:/controller")
	fmt.Fprintln(stdin, "quit")
}
