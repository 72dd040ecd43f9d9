package metadata

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Open is the access list of everything here: a classroom has no secrets.
func Open() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// Format makes the znodes that a BookKeeper cluster needs, and keeps those that are there. Every bookie calls it when it starts; of
// two that do so at once, one makes the instance id and both use it.
func Format(store Store) error {
	instance, err := newInstanceID()
	if err != nil {
		return err
	}
	for _, node := range []struct{ path, data string }{
		{LedgersRoot, ""},
		{AvailablePath, ""},
		{readOnlyPath, ""},
		{cookiesPath, ""},
		{idGeneratorPath, ""},
		{underreplication, ""},
		{MarksPath, ""},
		{LocksPath, ""},
		{ElectionPath, ""},
		{underreplication + "/LAYOUT", underreplicationLayout},
		{layoutPath, layout},
		{instancePath, instance},
	} {
		_, err := store.Create(node.path, []byte(node.data), zk.FlagPersistent, Open())
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("format BookKeeper metadata: create %s: %w", node.path, err)
		}
	}
	return nil
}

// InstanceID names the cluster; a bookie's cookie carries it.
func InstanceID(store Store) (string, error) {
	data, _, err := store.Get(instancePath)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", instancePath, err)
	}
	return string(data), nil
}

// newInstanceID is a random (version 4) UUID.
func newInstanceID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("draw an instance id: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}

// CreateAll creates a znode with its missing parents. zk.ErrNodeExists when the znode itself is there.
func CreateAll(store Store, path string, data []byte) error {
	_, err := store.Create(path, data, zk.FlagPersistent, Open())
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	for i := 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if _, err := store.Create(path[:i], nil, zk.FlagPersistent, Open()); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	_, err = store.Create(path, data, zk.FlagPersistent, Open())
	return err
}
