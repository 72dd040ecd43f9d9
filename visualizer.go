package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"twinlog/engine/attach"
	"twinlog/engine/cluster"
	"twinlog/engine/gossip"
	"twinlog/engine/node"
	"twinlog/engine/workload"
)

// runVisualizer is the process with the page and no node: it finds the nodes by gossip.
func runVisualizer(ctx context.Context, options nodeOptions, logger *slog.Logger, out io.Writer) error {
	run := newRunName()
	members, err := newGossip(options, gossip.Process{
		Name: node.Name(roleVisualizer, options.id), Run: run, Role: roleVisualizer, ID: options.id,
	}, logger)
	if err != nil {
		return err
	}
	directory, err := openDirectory(options.data)
	if err != nil {
		return err
	}
	remote := attach.NewRemote(attach.RemoteConfig{Members: members, Logger: logger})
	page, err := newPage(pageConfig{
		control: remote, listen: hostPort(options.host, cluster.PortPage), token: options.token, data: directory.directory, class: options.class, run: run,
		logger: logger, clusters: insideAddresses(options.counts),
	})
	if err != nil {
		return errors.Join(err, directory.close())
	}
	fmt.Fprintf(out, "page %s\n", page.URL())
	return errors.Join(runInOrder(ctx, page, remote, members), directory.close())
}

// insideAddresses are the brokers' addresses in a container network, where hosts are called like nodes.
func insideAddresses(counts map[string]int) (config workload.Config) {
	at := func(role, purpose string, id int) string {
		return hostPort(node.Name(role, id), cluster.FirstPort(role, purpose)+id-1+insidePorts)
	}
	for id := 1; id <= counts[node.RoleKafka]; id++ {
		config.Kafka = append(config.Kafka, at(node.RoleKafka, node.PurposeKafka, id))
	}
	var pulsar []string
	for id := 1; id <= counts[node.RolePulsar]; id++ {
		pulsar = append(pulsar, at(node.RolePulsar, node.PurposePulsar, id))
		config.PulsarHTTP = append(config.PulsarHTTP, "http://"+at(node.RolePulsar, node.PurposeHTTP, id))
	}
	config.PulsarURL = pulsarURL(pulsar)
	return config
}
