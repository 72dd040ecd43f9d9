package interop

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const zookeeperJar = "/usr/share/java/zookeeper.jar"

// realZooKeeper starts Apache's own server, as Debian packages it, and returns its address.
func realZooKeeper(t *testing.T) string {
	t.Helper()
	servers, _ := realZooKeepers(t, 1)
	return servers[0]
}

// realZooKeepers starts an ensemble of Apache's own servers and returns their addresses, and what kills one of them.
func realZooKeepers(t *testing.T, count int) (addresses []string, kill func(at int)) {
	t.Helper()
	if _, err := os.Stat(zookeeperJar); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("Debian's zookeeper package is not installed")
		}
		t.Skip("Debian's zookeeper package is not installed")
	}
	java := tool(t, "java")
	ports := freePorts(t, 3*count)
	var members []string
	for i := range count {
		if count > 1 {
			members = append(members, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, ports[count+i], ports[2*count+i]))
		}
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	servers := make([]*exec.Cmd, count)
	for i := range count {
		dir := t.TempDir()
		lines := []string{"tickTime=500", "initLimit=20", "syncLimit=10", "dataDir=" + dir, "clientPortAddress=127.0.0.1",
			fmt.Sprint("clientPort=", ports[i]), "admin.enableServer=false", "4lw.commands.whitelist=*"}
		config := filepath.Join(dir, "zoo.cfg")
		for name, text := range map[string]string{config: strings.Join(append(lines, members...), "\n"), filepath.Join(dir, "myid"): fmt.Sprint(i + 1)} {
			if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		server := exec.Command(java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", zookeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
		server.Dir = dir
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		servers[i] = server
		t.Cleanup(func() {
			server.Process.Kill()
			server.Wait()
		})
	}
	for _, address := range addresses {
		eventually(t, func() error {
			if answer, err := fourLetterWord(address, "srvr"); err != nil || !strings.Contains(answer, "Mode:") {
				return fmt.Errorf("it does not serve yet: %q, %v", answer, err)
			}
			return nil
		})
	}
	return addresses, func(at int) { servers[at].Process.Kill() }
}

// freePorts finds ports that nobody listens on, below the range from which the system gives out ports.
func freePorts(t *testing.T, count int) (ports []int) {
	t.Helper()
	for range 100 * count {
		port := 10000 + rand.IntN(20000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close()
		if ports = append(ports, port); len(ports) == count {
			return ports
		}
	}
	t.Fatalf("%d free ports were not found", count)
	return nil
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
	kafkaAcked.awaitMore(t, 500)
	pulsarAcked.awaitMore(t, 500)
	world := c.world().State
	c.act(fmt.Sprintf("kafka-%d", world.Kafka.Topics["failover"].Partitions["0"].Leader), "kill")
	c.act(world.Pulsar.Topics[topic].Owner, "kill")
	kafkaAcked.awaitMore(t, 1000)
	pulsarAcked.awaitMore(t, 1000)
	stopKafka()
	stopPulsar()
	kafkaAcked.verify(t, kafkaReader(t, c, "failover"))
	pulsarAcked.verify(t, pulsarReader(t, c, topic))
}
