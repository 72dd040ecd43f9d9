package cluster

import (
	"maps"
	"net"
	"slices"
	"strconv"

	"twinlog/engine/node"
	"twinlog/engine/sentence"
)

// numbers are the numbers of a role's nodes, in order.
func (l Layout) numbers(role string) []int {
	counts := map[string]int{node.RoleEnsemble: l.Ensemble, node.RoleKafka: l.Kafka, node.RolePulsar: l.Pulsar, node.RoleBookie: l.Bookies}
	if role == node.RoleEnsemble && len(l.ZooKeeper) > 0 {
		return nil
	}
	var numbers []int
	for id := 1; id <= counts[role]; id++ {
		numbers = append(numbers, id)
	}
	numbers = append(numbers, l.Added[role]...)
	slices.Sort(numbers)
	return slices.DeleteFunc(slices.Compact(numbers), func(id int) bool { return slices.Contains(l.Removed[role], id) })
}

// with is the layout with one more node of a role, and that node.
func (l Layout) with(role string) (Layout, node.Config, error) {
	present := l.numbers(role)
	id := 1
	if len(present) > 0 {
		id = present[len(present)-1] + 1
	}
	if id > maxNodes {
		return l, node.Config{}, sentence.Error(ErrRefused, "tooManyNodes", "there can be {most} {most|node|nodes} of a role at most, for each has its own port", maxNodes)
	}
	l.Added, l.Removed = plus(l.Added, role, id), minus(l.Removed, role, id)
	configs, err := l.Nodes()
	if err != nil {
		return l, node.Config{}, err
	}
	at := slices.IndexFunc(configs, func(config node.Config) bool { return config.Role == role && config.ID == id })
	if at < 0 {
		return l, node.Config{}, sentence.Error(ErrRefused, "ensembleIsZooKeeper", "the ensemble is a real ZooKeeper; change it with its own reconfig")
	}
	return l, configs[at], nil
}

// without is the layout with one node less.
func (l Layout) without(role string, id int) (Layout, error) {
	l.Added, l.Removed = minus(l.Added, role, id), plus(l.Removed, role, id)
	_, err := l.Nodes()
	switch {
	case role == node.RoleEnsemble && len(l.numbers(role)) == 0:
		return l, sentence.Error(ErrRefused, "lastServer", "it is the ensemble's last server, and somebody must coordinate")
	case role == node.RoleBookie && len(l.numbers(role)) == 0 && len(l.numbers(node.RolePulsar)) > 0:
		return l, sentence.Error(ErrRefused, "lastBookie", "it is the last bookie, and Pulsar-mode brokers keep their messages in bookies")
	}
	return l, err
}

// plus and minus never change the map that they are given.
func plus(numbers map[string][]int, role string, id int) map[string][]int {
	numbers = minus(numbers, role, id)
	numbers[role] = append(numbers[role], id)
	slices.Sort(numbers[role])
	return numbers
}

func minus(numbers map[string][]int, role string, id int) map[string][]int {
	numbers = maps.Clone(numbers)
	if numbers == nil {
		numbers = map[string][]int{}
	}
	numbers[role] = slices.DeleteFunc(slices.Clone(numbers[role]), func(other int) bool { return other == id })
	return numbers
}

// nodeOf names the node that listens, or would listen, at an address.
func (l Layout) nodeOf(address string) string {
	host, text, err := net.SplitHostPort(address)
	port, bad := strconv.Atoi(text)
	if err != nil || bad != nil || host != l.Host {
		return address
	}
	for role, purposes := range firstPorts {
		for _, first := range purposes {
			if n := port - l.PortOffset - first; n >= 0 && n < maxNodes {
				return node.Name(role, n+1)
			}
		}
	}
	return address
}
