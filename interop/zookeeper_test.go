package interop

import (
	"fmt"
	"io"
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
	case <-time.After(patience):
		t.Errorf("the watch did not fire within %v", patience)
	}
}

// TestZkCli runs Apache's command line client, as Debian packages it, and the classroom's own, which takes the same words.
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
	eventually(t, func() error {
		if controller = c.world().State.Kafka.Controller.Broker; controller < 1 {
			return fmt.Errorf("no controller is known")
		}
		return nil
	})
	clients := []*zooKeeperClient{
		openZooKeeperClient(t, cli, "-server", c.zookeeper()[0]),
		openZooKeeperClient(t, program, "zookeeper-client", "--server", strings.Join(c.zookeeper(), ",")),
	}
	for i, client := range clients {
		client.expect("ls /brokers/ids", "[1, 2, 3]")
		client.expect("get /brokers/topics/browsed", `"partitions":`)
		client.expect("ls /ledgers", "available")
		client.expect("ls /loadbalance", "brokers")
		client.expect("ls /namespace/public", "[default]")
		own := fmt.Sprintf("/client-%d", i)
		client.expect("create "+own, "Created "+own)
		client.expect("create -e -s "+own+"/worker- here", "Created "+own+"/worker-0000000000")
		client.expect("stat "+own+"/worker-0000000000", "dataLength = 4")
		client.expect("get -w /controller", fmt.Sprintf(`"brokerid":%d`, controller))
	}
	c.act(fmt.Sprintf("kafka-%d", controller), "kill")
	for i, client := range clients {
		client.expect("", "type:NodeDeleted path:/controller")
		client.expect(fmt.Sprintf("get -s /client-%d", 1-i), "cversion = 1") // of the other's, whose ephemeral is there
	}
	for i, client := range clients {
		fmt.Fprintln(client.stdin, "quit")
		if err := client.command.Wait(); err != nil {
			t.Errorf("client %d ends with %v", i, err)
		}
	}
}

// zooKeeperClient is a client program that takes commands a line.
type zooKeeperClient struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.Writer
	said    *classroom
}

func openZooKeeperClient(t *testing.T, program string, arguments ...string) *zooKeeperClient {
	t.Helper()
	client := &zooKeeperClient{t: t, command: exec.CommandContext(t.Context(), program, arguments...), said: &classroom{t: t}}
	stdin, err := client.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	client.stdin = stdin
	client.command.Stdout, client.command.Stderr = writer(client.said.write), writer(client.said.write)
	if err := client.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.command.Process.Kill() })
	return client
}

func (c *zooKeeperClient) expect(send, want string) {
	c.t.Helper()
	fmt.Fprintln(c.stdin, send)
	eventually(c.t, func() error {
		if !strings.Contains(c.said.log(), want) {
			return fmt.Errorf("after %q %s does not say %q:\n%s", send, c.command.Path, want, c.said.log())
		}
		return nil
	})
}
