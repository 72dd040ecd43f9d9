package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// What the cluster knows lives in znodes whose paths and JSON values are Pulsar's. Nothing is cached here: a read asks ZooKeeper.

const (
	clustersPath         = "/admin/clusters"
	policiesPath         = "/admin/policies"
	localPoliciesPath    = "/admin/local-policies"
	partitionedPath      = "/admin/partitioned-topics"
	ownershipPath        = "/namespace"
	brokersPath          = "/loadbalance/brokers"
	leaderPath           = "/loadbalance/leader"
	producerCountersPath = "/counters/producer-name"
	managedLedgersPath   = "/managed-ledgers"
	schemasPath          = "/schemas"
)

var (
	// ErrNotFound: the tenant, namespace, topic or subscription does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists: it exists already.
	ErrExists = errors.New("already exists")
	// ErrConflict: somebody else changed it at the same moment; trying again may work.
	ErrConflict = errors.New("changed by somebody else at the same moment")
)

var openACL = zk.WorldACL(zk.PermAll)

// readJSON reads a znode; version is for a later writeJSON. ErrNotFound when there is none.
func marshal(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding a znode value: %w", err)
	}
	return data, nil
}

func (b *Broker) readJSON(znode string, value any) (version int32, err error) {
	data, stat, err := b.zookeeper.Get(znode)
	if errors.Is(err, zk.ErrNoNode) {
		if err := b.catchUp(); err != nil {
			return 0, err
		}
		data, stat, err = b.zookeeper.Get(znode)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return 0, Refuse(ErrNotFound, "there is no znode %s", znode)
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", znode, err)
	}
	if len(data) == 0 {
		return stat.Version, nil
	}
	if err := json.Unmarshal(data, value); err != nil {
		return 0, fmt.Errorf("reading %s: its value is not the JSON that is expected there: %w", znode, err)
	}
	return stat.Version, nil
}

// writeJSON replaces a znode's value if its version is still the one given; -1 replaces any.
func (b *Broker) writeJSON(znode string, value any, version int32) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing %s: %w", znode, err)
	}
	_, err = b.zookeeper.Set(znode, data, version)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return Refuse(ErrNotFound, "there is no znode %s", znode)
	case errors.Is(err, zk.ErrBadVersion):
		return Refuse(ErrConflict, "znode %s was changed by somebody else at the same moment", znode)
	case err != nil:
		return fmt.Errorf("writing %s: %w", znode, err)
	}
	return nil
}

// createJSON creates a persistent znode and its parents; ErrExists when it is there.
func (b *Broker) createJSON(znode string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("creating %s: %w", znode, err)
	}
	return b.create(znode, data, 0)
}

func (b *Broker) create(znode string, data []byte, flags int32) error {
	for {
		_, err := b.zookeeper.Create(znode, data, flags, openACL)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNodeExists):
			return Refuse(ErrExists, "znode %s exists already", znode)
		case errors.Is(err, zk.ErrNoNode):
			parent := path.Dir(znode)
			if err := b.create(parent, nil, 0); err != nil && !errors.Is(err, ErrExists) {
				return err
			}
		default:
			return fmt.Errorf("creating %s: %w", znode, err)
		}
	}
}

// catchUp lets this broker see everything that was written before the call, by whatever broker. Each broker reads from its own
// ZooKeeper server, which may be behind: "there is no such znode" is only an answer after a sync. What is found may be old too; who
// acts on that meets a version conflict or the owner's refusal.
func (b *Broker) catchUp() error {
	if _, err := b.zookeeper.Sync("/"); err != nil {
		return fmt.Errorf("catching up with ZooKeeper: %w", err)
	}
	return nil
}

// children lists a znode's children; none when it does not exist.
func (b *Broker) children(znode string) ([]string, error) {
	if err := b.catchUp(); err != nil {
		return nil, err
	}
	names, _, err := b.zookeeper.Children(znode)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", znode, err)
	}
	return names, nil
}

func (b *Broker) exists(znode string) (bool, error) {
	there, _, err := b.zookeeper.Exists(znode)
	if err == nil && !there {
		if err := b.catchUp(); err != nil {
			return false, err
		}
		there, _, err = b.zookeeper.Exists(znode)
	}
	if err != nil {
		return false, fmt.Errorf("looking for %s: %w", znode, err)
	}
	return there, nil
}

// remove deletes a znode; one that is not there is fine.
func (b *Broker) remove(znode string) error {
	err := b.zookeeper.Delete(znode, -1)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("deleting %s: %w", znode, err)
	}
	return nil
}

// removeTree deletes a znode and everything below it.
func (b *Broker) removeTree(znode string) error {
	names, err := b.children(znode)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := b.removeTree(znode + "/" + name); err != nil {
			return err
		}
	}
	return b.remove(znode)
}
