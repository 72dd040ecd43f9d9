package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// zooServers are the processes of one ensemble that speaks ZooKeeper's protocol, the leader first.
type zooServers struct {
	name      string
	processes []*server
	addresses []string
}

func (z *zooServers) stop() {
	for _, each := range z.processes {
		each.stop()
	}
}

const ensembleServers = 3

// startTwinlogEnsemble runs ours as three `twinlog node`, each with the configuration that ZooKeeper would get.
func startTwinlogEnsemble(ctx context.Context, program, directory string) (*zooServers, error) {
	return startZooServers(ctx, "ensemble", directory, func(configuration string) *exec.Cmd {
		return exec.Command(program, "node", "--role", "ensemble", "--log", "error", "--zoo-cfg", configuration)
	})
}

// zookeeperJar is where Debian's package puts ZooKeeper; its manifest names the libraries.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

// startZooKeeper runs Debian's ZooKeeper with the heap and the collector that its scripts give it. Where it is not installed it says
// what is missing.
func startZooKeeper(ctx context.Context, directory string) (started *zooServers, missing string, err error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, "there is no java", nil
	}
	if _, err := os.Stat(zookeeperJar); err != nil {
		return nil, "there is no " + zookeeperJar + " (Debian's package zookeeper)", nil
	}
	started, err = startZooServers(ctx, "ZooKeeper", directory, func(configuration string) *exec.Cmd {
		return exec.Command(java, "-Xmx1000m", "-cp", zookeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", configuration)
	})
	return started, "", err
}

// startZooServers starts three servers with command and waits until all of them serve.
func startZooServers(ctx context.Context, name, directory string, command func(configuration string) *exec.Cmd) (z *zooServers, err error) {
	z = &zooServers{name: name}
	defer func() {
		if err != nil {
			z.stop()
		}
	}()
	ports, err := freePorts(3 * ensembleServers)
	if err != nil {
		return nil, err
	}
	for number := range ensembleServers {
		configuration, err := writeZooConfiguration(filepath.Join(directory, name), number, ports)
		if err != nil {
			return nil, err
		}
		s := &server{command: command(configuration)}
		s.command.Stderr = &s.stderr
		if err := s.command.Start(); err != nil {
			return nil, fmt.Errorf("starting server %d of the %s: %w", number+1, name, err)
		}
		z.processes = append(z.processes, s)
		z.addresses = append(z.addresses, fmt.Sprintf("127.0.0.1:%d", ports[number]))
	}
	return z, z.awaitServing(ctx)
}

// writeZooConfiguration writes one server's directory and zoo.cfg. The first ports are for clients, then come the servers' own.
func writeZooConfiguration(directory string, number int, ports []int) (string, error) {
	data := filepath.Join(directory, fmt.Sprint("server-", number+1))
	if err := os.MkdirAll(data, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(data, "myid"), fmt.Appendln(nil, number+1), 0o644); err != nil {
		return "", err
	}
	text := fmt.Appendf(nil, "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n", data, ports[number])
	text = fmt.Appendf(text, "admin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n")
	for other := range ensembleServers {
		text = fmt.Appendf(text, "server.%d=127.0.0.1:%d:%d\n", other+1, ports[ensembleServers+other], ports[2*ensembleServers+other])
	}
	path := filepath.Join(directory, fmt.Sprintf("zoo-%d.cfg", number+1))
	return path, os.WriteFile(path, text, 0o644)
}

// awaitServing waits until every server says what it is, and puts the leader first.
func (z *zooServers) awaitServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	leader := -1
	for at, address := range z.addresses {
		for {
			mode, err := zooMode(address)
			if err == nil {
				if mode == "leader" {
					leader = at
				}
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("server %d of the %s does not serve: %w\n%s", at+1, z.name, err, z.processes[at].stderr.String())
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	if leader < 0 {
		return fmt.Errorf("the %s's servers serve and none of them leads", z.name)
	}
	z.addresses[0], z.addresses[leader] = z.addresses[leader], z.addresses[0]
	return nil
}

// zooMode asks a server by a four-letter word whether it leads or follows.
func zooMode(address string) (string, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(answer)) {
		if mode, found := strings.CutPrefix(line, "Mode: "); found {
			return strings.TrimSpace(mode), nil
		}
	}
	return "", errors.New("it has no part in an ensemble yet")
}

// freePorts finds ports that nobody listens on, below the range from which the system gives out ports.
func freePorts(count int) (ports []int, err error) {
	var held []net.Listener
	defer func() {
		for _, each := range held {
			each.Close()
		}
	}()
	for range 100 * count {
		port := 10000 + rand.IntN(20000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		held, ports = append(held, listener), append(ports, port)
		if len(ports) == count {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("%d free ports were not found", count)
}
