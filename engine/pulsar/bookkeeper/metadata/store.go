// Package metadata is what BookKeeper keeps in ZooKeeper: where the ledgers' metadata lies, how ledger ids are drawn, which bookies
// there are, and which cluster a bookie's disk belongs to. Paths and values are Apache BookKeeper's own (hierarchical ledger
// manager), so that a student can read them with zkCli.
package metadata

import "github.com/go-zookeeper/zk"

// Store is the part of a ZooKeeper session that is needed here; *zk.Conn is one. Errors are the zk package's (zk.ErrNoNode,
// zk.ErrNodeExists, zk.ErrBadVersion, …).
type Store interface {
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
}

var _ Store = (*zk.Conn)(nil)
