package broker

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
)

// producerNames makes names for producers that bring none: cluster-instance-number. Each broker process draws its instance number
// from ZooKeeper once, so that no two make the same name.
type producerNames struct {
	mu       sync.Mutex
	instance string
	count    uint64
}

func (n *producerNames) next(b *Broker) (string, error) {
	n.mu.Lock()
	known := n.instance
	n.mu.Unlock()
	if known == "" {
		drawn, err := drawInstance(b)
		if err != nil {
			return "", err
		}
		n.mu.Lock()
		if n.instance == "" {
			n.instance = drawn
		}
		n.mu.Unlock()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	name := fmt.Sprintf("%s-%s-%d", b.config.Cluster, n.instance, n.count)
	n.count++
	return name, nil
}

func drawInstance(b *Broker) (string, error) {
	created, err := b.zookeeper.Create(producerCountersPath+"/-", nil, zk.FlagSequence, openACL)
	if errors.Is(err, zk.ErrNoNode) {
		if err := b.create(producerCountersPath, nil, 0); err != nil && !errors.Is(err, ErrExists) {
			return "", err
		}
		created, err = b.zookeeper.Create(producerCountersPath+"/-", nil, zk.FlagSequence, openACL)
	}
	if err != nil {
		return "", fmt.Errorf("drawing a number for producer names: %w", err)
	}
	digits := strings.TrimLeft(created[strings.LastIndex(created, "-")+1:], "0")
	if digits == "" {
		digits = "0"
	}
	return digits, nil
}
