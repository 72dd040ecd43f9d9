// Package administration does what an administrator does to the two clusters, through their public protocols and nothing else: topics,
// reassignments and elections by the Kafka protocol, topics and bundles by Pulsar's admin REST.
package administration

import (
	"errors"
	"time"
)

var (
	// ErrInvalid: what was asked for makes no sense.
	ErrInvalid = errors.New("that makes no sense")
	// ErrNotFound: there is no such topic, partition or bundle.
	ErrNotFound = errors.New("there is no such thing")
	// ErrConflict: the cluster is not in a state for it.
	ErrConflict = errors.New("the cluster's state does not allow that")
)

// Addresses are where the clusters are.
type Addresses struct {
	Kafka       []string // brokers, host:port
	PulsarAdmin []string // brokers' HTTP services, http://host:port
}

// Administrator acts on the two clusters. Its methods may be called from any goroutine.
type Administrator struct {
	addresses func() Addresses
}

// New returns an administrator that asks for the addresses anew with each action.
func New(addresses func() Addresses) *Administrator {
	return &Administrator{addresses: addresses}
}

// pollEvery is how often something is asked again that has not happened yet.
const pollEvery = 50 * time.Millisecond
