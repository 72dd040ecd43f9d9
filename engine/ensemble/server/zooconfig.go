package server

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ZooConfig is what ZooKeeper's own configuration file says.
type ZooConfig struct {
	Config Config
	// DataDir is where the server keeps its files. It also holds myid.
	DataDir string
}

// ReadZooConfig reads a configuration file of ZooKeeper (zoo.cfg), the myid file that it leads to, and the dynamic configuration file
// if it names one. The caller says how files are read (os.ReadFile). jvmFlags is what ZooKeeper's scripts take from the environment
// variable SERVER_JVMFLAGS: -Dzookeeper.NAME=VALUE means the setting NAME. Settings that mean nothing here are ignored.
//
// Of a server's two ports the first one, ZooKeeper's for followers, is used for Raft; the second, for elections, is not needed. With
// fewer than two servers the server is alone.
func ReadZooConfig(path, jvmFlags string, readFile func(string) ([]byte, error)) (ZooConfig, error) {
	text, err := readFile(path)
	if err != nil {
		return ZooConfig{}, fmt.Errorf("reading the ZooKeeper configuration: %w", err)
	}
	settings := map[string]string{}
	for flag := range strings.FieldsSeq(jvmFlags) {
		if setting, found := strings.CutPrefix(flag, "-Dzookeeper."); found {
			key, value, _ := strings.Cut(setting, "=")
			settings[key] = value
		}
	}
	if err := addSettings(settings, text); err != nil {
		return ZooConfig{}, fmt.Errorf("%s: %w", path, err)
	}
	if dynamic := settings["dynamicConfigFile"]; dynamic != "" {
		text, err := readFile(dynamic)
		if err == nil {
			err = addSettings(settings, text)
		}
		if err != nil {
			return ZooConfig{}, fmt.Errorf("reading the servers of %s: %w", path, err)
		}
	}
	zoo, err := zooConfig(settings, readFile)
	if err != nil {
		return ZooConfig{}, fmt.Errorf("%s: %w", path, err)
	}
	return zoo, nil
}

func addSettings(settings map[string]string, text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			return fmt.Errorf("line %d is not KEY=VALUE: %q", number, line)
		}
		settings[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return lines.Err()
}

func zooConfig(settings map[string]string, readFile func(string) ([]byte, error)) (ZooConfig, error) {
	zoo := ZooConfig{DataDir: settings["dataDir"]}
	if zoo.DataDir == "" {
		return zoo, fmt.Errorf("dataDir is missing")
	}
	c := &zoo.Config
	c.SuperDigest = settings["DigestAuthenticationProvider.superDigest"]
	c.TTLDisabled = settings["extendedTypesEnabled"] != "true"
	c.ReconfigEnabled = settings["reconfigEnabled"] == "true"
	for key, target := range map[string]*time.Duration{
		"tickTime": &c.TickTime, "minSessionTimeout": &c.MinSessionTimeout, "maxSessionTimeout": &c.MaxSessionTimeout,
	} {
		if text, found := settings[key]; found {
			milliseconds, err := strconv.Atoi(text)
			if err != nil || milliseconds <= 0 {
				return zoo, fmt.Errorf("%s is %q, but must be a number of milliseconds", key, text)
			}
			*target = time.Duration(milliseconds) * time.Millisecond
		}
	}
	servers := map[int]zooServer{}
	for key, value := range settings {
		if number, found := strings.CutPrefix(key, "server."); found {
			id, err := strconv.Atoi(number)
			if err != nil {
				return zoo, fmt.Errorf("%s: the server's number is %q", key, number)
			}
			if servers[id], err = parseZooServer(value); err != nil {
				return zoo, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	c.ID = 1
	if len(servers) > 0 || settings["standaloneEnabled"] == "false" {
		text, err := readFile(filepath.Join(zoo.DataDir, "myid"))
		if err != nil {
			return zoo, fmt.Errorf("reading the server's number: %w", err)
		}
		if c.ID, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			return zoo, fmt.Errorf("the server's number in myid is %q", strings.TrimSpace(string(text)))
		}
	}
	return zoo, c.takeServers(servers, settings)
}

// takeServers fills in the addresses.
func (c *Config) takeServers(servers map[int]zooServer, settings map[string]string) error {
	self, member := servers[c.ID]
	if len(servers) >= 2 {
		if !member {
			return fmt.Errorf("there is no server.%d, but myid says that this is it", c.ID)
		}
		c.Peers, c.Specs = map[int]string{}, map[int]string{}
		for id, each := range servers {
			c.Peers[id], c.Specs[id] = each.peer, each.spec
		}
		c.PeerAddress = self.peer
	}
	c.ClientAddress = self.client
	if port := settings["clientPort"]; port != "" {
		c.ClientAddress = net.JoinHostPort(settings["clientPortAddress"], port)
	}
	if c.ClientAddress == "" {
		return fmt.Errorf("clientPort is missing")
	}
	return nil
}

// zooServer is one server as a configuration writes it.
type zooServer struct {
	peer   string // host:port
	client string // host:port; may be empty
	spec   string // in the form that /zookeeper/config shows
}

// parseZooServer reads host:port:port[:role][;[host:]port].
func parseZooServer(text string) (zooServer, error) {
	text = strings.TrimSpace(text)
	servers, client, hasClient := strings.Cut(text, ";")
	parts := strings.Split(servers, ":")
	role := "participant"
	if len(parts) == 4 {
		role = parts[3]
		parts = parts[:3]
	}
	if len(parts) != 3 || parts[0] == "" || !isPort(parts[1]) || !isPort(parts[2]) {
		return zooServer{}, fmt.Errorf("%q is not HOST:PORT:PORT[:participant][;[HOST:]PORT]", text)
	}
	if role != "participant" {
		return zooServer{}, fmt.Errorf("%q: servers are participants; there are no observers", text)
	}
	server := zooServer{peer: net.JoinHostPort(parts[0], parts[1]), spec: strings.Join(parts, ":") + ":" + role}
	if hasClient {
		host, port := "0.0.0.0", client
		if at := strings.LastIndex(client, ":"); at >= 0 {
			host, port = client[:at], client[at+1:]
		}
		if !isPort(port) {
			return zooServer{}, fmt.Errorf("%q: the clients' port is %q", text, port)
		}
		server.client = net.JoinHostPort(host, port)
		server.spec += ";" + server.client
	}
	return server, nil
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}
