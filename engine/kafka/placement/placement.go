// Package placement decides which brokers hold the replicas of a new topic or of new partitions. It is pure: the random start and shift
// that Kafka draws are arguments.
//
// Without racks, broker indexes are walked like this (five brokers, three replicas, start 0, shift 0). The first replica is the preferred
// leader, so leaders go round all brokers; the shift grows each time the partitions wrap round the brokers, so that two brokers do not
// share all their partitions:
//
//	partition   leader   2nd   3rd
//	    0          0       1     2
//	    1          1       2     3
//	   ...
//	    5          0       2     3      wrapped once: shift 1
//
// With racks, the brokers are first put in an order that alternates racks, and a rack takes a second replica only when every rack has one.
//
// Source: Apache Kafka 3.9, AdminUtils; KIP-36 for racks.
package placement

import (
	"errors"
	"fmt"
	"slices"
)

// Broker is a broker that can take replicas. Rack is empty when the broker has none.
type Broker struct {
	ID   int32
	Rack string
}

// Request says what is to be placed.
type Request struct {
	Partitions        int // how many new partitions; at least 1
	ReplicationFactor int // 1 to the number of brokers
	// FirstPartition is the number of the first new partition: 0 for a new topic, the present count when a topic grows.
	FirstPartition int
	// StartIndex is the place, in the list of brokers ordered by id, of the leader of partition 0; Shift the distance from the leader to
	// the second replica, less one. Kafka draws both at random for a new topic; any value >= 0 is valid.
	StartIndex int
	Shift      int
}

var (
	// ErrInvalidPartitions: the number of partitions is not positive.
	ErrInvalidPartitions = errors.New("number of partitions must be larger than 0")
	// ErrInvalidReplicationFactor: not positive, or more than there are brokers.
	ErrInvalidReplicationFactor = errors.New("invalid replication factor")
	// ErrMixedRacks: some brokers have a rack and some have none, so that spreading over racks is not defined.
	ErrMixedRacks = errors.New("not all brokers have rack information for replica rack aware assignment")
)

// Assign places the partitions and returns, for each of them in order, the broker ids of its replicas, preferred leader first.
func Assign(brokers []Broker, request Request) ([][]int32, error) {
	if request.Partitions <= 0 {
		return nil, fmt.Errorf("%w, and %d was asked for", ErrInvalidPartitions, request.Partitions)
	}
	if request.ReplicationFactor <= 0 {
		return nil, fmt.Errorf("%w: it must be larger than 0, and %d was asked for", ErrInvalidReplicationFactor, request.ReplicationFactor)
	}
	if request.ReplicationFactor > len(brokers) {
		return nil, fmt.Errorf("%w: %d replicas were asked for and %d brokers are there",
			ErrInvalidReplicationFactor, request.ReplicationFactor, len(brokers))
	}
	byID := slices.Clone(brokers)
	slices.SortFunc(byID, func(a, b Broker) int { return int(a.ID) - int(b.ID) })
	racks := 0
	for _, broker := range byID {
		if broker.Rack != "" {
			racks++
		}
	}
	switch racks {
	case 0:
		return assignIgnoringRacks(byID, request), nil
	case len(byID):
		return assignOverRacks(alternateRacks(byID), request), nil
	default:
		return nil, fmt.Errorf("%w: %d of %d brokers have a rack", ErrMixedRacks, racks, len(byID))
	}
}

// replicaIndex is the place of a follower: nth counts followers from 0. It never lands on the leader, since the distance is 1 to count-1.
func replicaIndex(leader, shift, nth, count int) int {
	distance := 1 + (shift+nth)%(count-1)
	return (leader + distance) % count
}

func assignIgnoringRacks(brokers []Broker, request Request) [][]int32 {
	count, shift := len(brokers), request.Shift
	assignment := make([][]int32, 0, request.Partitions)
	for partition := request.FirstPartition; partition < request.FirstPartition+request.Partitions; partition++ {
		if partition > 0 && partition%count == 0 {
			shift++
		}
		leader := (partition + request.StartIndex) % count
		replicas := []int32{brokers[leader].ID}
		for nth := range request.ReplicationFactor - 1 {
			replicas = append(replicas, brokers[replicaIndex(leader, shift, nth, count)].ID)
		}
		assignment = append(assignment, replicas)
	}
	return assignment
}

func assignOverRacks(brokers []Broker, request Request) [][]int32 {
	rackCount := countRacks(brokers)
	count, shift := len(brokers), request.Shift
	assignment := make([][]int32, 0, request.Partitions)
	for partition := request.FirstPartition; partition < request.FirstPartition+request.Partitions; partition++ {
		if partition > 0 && partition%count == 0 {
			shift++
		}
		leader := (partition + request.StartIndex) % count
		replicas := []int32{brokers[leader].ID}
		usedRacks := map[string]bool{brokers[leader].Rack: true}
		for nth := 0; len(replicas) < request.ReplicationFactor; nth++ {
			candidate := brokers[replicaIndex(leader, shift*rackCount, nth, count)]
			if usedRacks[candidate.Rack] && len(usedRacks) < rackCount {
				continue // another rack has no replica yet
			}
			if slices.Contains(replicas, candidate.ID) {
				continue
			}
			replicas = append(replicas, candidate.ID)
			usedRacks[candidate.Rack] = true
		}
		assignment = append(assignment, replicas)
	}
	return assignment
}

func countRacks(brokers []Broker) int {
	racks := map[string]bool{}
	for _, broker := range brokers {
		racks[broker.Rack] = true
	}
	return len(racks)
}

// alternateRacks orders brokers so that neighbours are in different racks as long as the racks last: with a: 0 1 2, b: 3 4, c: 5 the
// order is 0 3 5 1 4 2.
func alternateRacks(brokersByID []Broker) []Broker {
	byRack := map[string][]Broker{}
	var racks []string
	for _, broker := range brokersByID {
		if _, known := byRack[broker.Rack]; !known {
			racks = append(racks, broker.Rack)
		}
		byRack[broker.Rack] = append(byRack[broker.Rack], broker)
	}
	slices.Sort(racks)
	ordered := make([]Broker, 0, len(brokersByID))
	for round := 0; len(ordered) < len(brokersByID); round++ {
		for _, rack := range racks {
			if round < len(byRack[rack]) {
				ordered = append(ordered, byRack[rack][round])
			}
		}
	}
	return ordered
}
