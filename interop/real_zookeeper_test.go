package interop

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const zookeeperJar = "/usr/share/java/zookeeper.jar"

// realZooKeeper starts Apache's own server, as Debian packages it, and returns its address.
func realZooKeeper(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(zookeeperJar); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("Debian's zookeeper package is not installed")
		}
		t.Skip("Debian's zookeeper package is not installed")
	}
	java := tool(t, "java")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	listener.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "zoo.cfg")
	lines := []string{"tickTime=500", "dataDir=" + filepath.Join(dir, "data"), "clientPortAddress=127.0.0.1", "clientPort=" + port, "admin.enableServer=false", "4lw.commands.whitelist=*"}
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", zookeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
	server.Dir = dir
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	eventually(t, 60*time.Second, func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprint(conn, "srvr")
		if answer, err := io.ReadAll(conn); err != nil || !strings.Contains(string(answer), "Mode:") {
			return fmt.Errorf("it does not serve yet: %q, %v", answer, err)
		}
		return nil
	})
	return address
}

// TestEnginesOnARealZooKeeper: with Apache's ZooKeeper in the place of our ensemble, both engines do their main jobs unchanged: clients
// produce and consume in both modes, and the kill of a broker of either loses nothing.
func TestEnginesOnARealZooKeeper(t *testing.T) {
	c := up(t, "--zookeeper", realZooKeeper(t))
	runFranz(t, c, "on-zookeeper")

	createTopic(t, c, "failover", 1)
	kafkaAcked := newAcknowledged()
	stopKafka := kafkaLoad(t, c, "failover", kafkaAcked)
	defer stopKafka()
	const topic = "persistent://public/default/failover"
	pulsarAcked := newAcknowledged()
	stopPulsar := pulsarLoad(t, c, topic, pulsarAcked)
	defer stopPulsar()
	kafkaAcked.awaitMore(t, 500, 30*time.Second)
	pulsarAcked.awaitMore(t, 500, 30*time.Second)
	world := c.world().State
	c.act(fmt.Sprintf("kafka-%d", world.Kafka.Topics["failover"].Partitions["0"].Leader), "kill")
	c.act(world.Pulsar.Topics[topic].Owner, "kill")
	kafkaAcked.awaitMore(t, 1000, 60*time.Second)
	pulsarAcked.awaitMore(t, 1000, 90*time.Second)
	stopKafka()
	stopPulsar()
	kafkaAcked.verify(t, kafkaReader(t, c, "failover"))
	pulsarAcked.verify(t, pulsarReader(t, c, topic))
}
