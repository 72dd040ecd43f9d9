package broker_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
)

// A broker reads a new topic's configuration at the server of the ensemble that it is connected to, which may be behind the one that the
// controller wrote at.
func TestANewTopicsConfigurationIsReadThoughTheServerOfTheEnsembleIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{
			t: t, fabric: fabric.NewMemory(), disks: map[int32]*disk.Memory{1: disk.NewMemory(), 2: disk.NewMemory()}, nodes: map[int32]*testNode{},
			properties: map[string]string{"auto.leader.rebalance.enable": "false"}, zookeeper: map[int32]string{},
		}
		leader := c.startEnsemble(3)
		behind := leader%3 + 1
		c.zookeeper[1], c.zookeeper[2] = clientAddress(leader), clientAddress(behind)
		t.Cleanup(func() {
			for id := range c.disks {
				c.stop(id)
			}
		})
		c.await(c.start(1)) // the controller
		c.await(c.start(2))
		if err := c.fabric.SetLink(ensembleName(leader), ensembleName(behind), fabric.Link{Delay: 300 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		c.createTopic("payments", 1, 2, map[string]string{"min.insync.replicas": "2"})
		for id := range c.nodes {
			if got := c.topicSetting(id, "payments", "min.insync.replicas"); got != "2" {
				t.Errorf("to broker %d min.insync.replicas is %q", id, got)
			}
		}
	})
}

func clientAddress(id int) string { return fmt.Sprintf("127.0.0.1:%d", 2180+id) }
func ensembleName(id int) string  { return fmt.Sprintf("ensemble-%d", id) }

// startEnsemble starts servers that end with the test, and returns the id of the one that leads.
func (c *cluster) startEnsemble(servers int) (leader int) {
	c.t.Helper()
	peers := map[int]string{}
	for id := 1; id <= servers; id++ {
		peers[id] = fmt.Sprintf("127.0.0.1:%d", 2887+id)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, servers)
	c.t.Cleanup(func() {
		cancel()
		for range servers {
			if err := <-ended; err != nil {
				c.t.Error(err)
			}
		}
	})
	for id := 1; id <= servers; id++ {
		ensemble, err := server.New(server.Config{
			ID: id, Peers: peers, ClientAddress: clientAddress(id), PeerAddress: peers[id], Network: c.fabric.Of(ensembleName(id)), Disk: disk.NewMemory(),
		})
		if err != nil {
			c.t.Fatal(err)
		}
		go func() { ended <- ensemble.Run(ctx) }()
	}
	c.eventually("a server of the ensemble leads", func() bool {
		for id := 1; id <= servers; id++ {
			if strings.Contains(c.serverStatus(clientAddress(id)), "Mode: leader") {
				leader = id
			}
		}
		return leader > 0
	})
	return leader
}

// serverStatus is what a server of the ensemble answers to srvr; empty when it does not.
func (c *cluster) serverStatus(address string) string {
	conn, err := c.fabric.Of(fabric.Client).Dial(context.Background(), address)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return ""
	}
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

func (c *cluster) topicSetting(id int32, topic, name string) string {
	c.t.Helper()
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.Version = 4
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{name}
	request.Resources = append(request.Resources, resource)
	for _, answer := range c.ask(id, request).(*kmsg.DescribeConfigsResponse).Resources {
		for _, entry := range answer.Configs {
			if entry.Value != nil {
				return *entry.Value
			}
		}
	}
	return ""
}
