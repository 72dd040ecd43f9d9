package broker

import (
	"errors"
)

// bootstrap creates what a new cluster needs before its first client: the cluster itself, the tenants public and pulsar, their
// namespaces. Every broker does it at its start and creates only what is not there, so that brokers that start together agree
// whoever comes first.
func (b *Broker) bootstrap() error {
	cluster := ClusterData{ServiceURL: b.urls.http, BrokerServiceURL: b.urls.pulsar}
	tenant := Tenant{AdminRoles: []string{}, AllowedClusters: []string{b.config.Cluster}}
	steps := []func() error{
		func() error { return b.createJSON(clustersPath+"/"+b.config.Cluster, cluster) },
		func() error { return b.createJSON(clustersPath+"/global", ClusterData{}) },
		func() error { return b.createJSON(policiesPath+"/public", tenant) },
		func() error { return b.createJSON(policiesPath+"/pulsar", tenant) },
		func() error { return b.CreateNamespace("public", "default", Policies{}) },
		func() error { return b.CreateNamespace("pulsar", "system", Policies{}) },
		func() error { return b.create(brokersPath, nil, 0) },
		func() error { return b.create(ownershipPath, nil, 0) },
		func() error { return b.create(producerCountersPath, nil, 0) },
		func() error { return b.create(managedLedgersPath, nil, 0) },
		func() error { return b.create(schemasPath, nil, 0) },
		func() error { return b.create("/bookies", []byte("{}"), 0) },
	}
	for _, step := range steps {
		if err := step(); err != nil && !errors.Is(err, ErrExists) {
			return err
		}
	}
	return nil
}
