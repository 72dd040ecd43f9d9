package placement

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func plain(ids ...int32) []Broker {
	var brokers []Broker
	for _, id := range ids {
		brokers = append(brokers, Broker{ID: id})
	}
	return brokers
}

func TestAssign(t *testing.T) {
	racks := []Broker{{0, "a"}, {1, "c"}, {2, "b"}, {3, "b"}, {4, "a"}, {5, "c"}}
	tests := []struct {
		name    string
		brokers []Broker
		request Request
		want    [][]int32
	}{
		{"one broker", plain(7), Request{Partitions: 2, ReplicationFactor: 1}, [][]int32{{7}, {7}}},
		{"ten partitions over five brokers wrap once", plain(0, 1, 2, 3, 4), Request{Partitions: 10, ReplicationFactor: 3}, [][]int32{
			{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 0}, {4, 0, 1},
			{0, 2, 3}, {1, 3, 4}, {2, 4, 0}, {3, 0, 1}, {4, 1, 2}}},
		{"start and shift", plain(1, 2, 3), Request{Partitions: 3, ReplicationFactor: 2, StartIndex: 1, Shift: 1},
			[][]int32{{2, 1}, {3, 2}, {1, 3}}},
		{"brokers in any order", plain(3, 1, 2), Request{Partitions: 1, ReplicationFactor: 3}, [][]int32{{1, 2, 3}}},
		{"a topic that grows goes on where it stopped", plain(0, 1, 2, 3, 4), Request{Partitions: 2, ReplicationFactor: 2, FirstPartition: 4},
			[][]int32{{4, 0}, {0, 2}}},
		// Brokers alternate racks in the order 0 2 1 4 3 5.
		{"three racks", racks, Request{Partitions: 7, ReplicationFactor: 3}, [][]int32{
			{0, 2, 1}, {2, 1, 4}, {1, 4, 3}, {4, 3, 5}, {3, 5, 0}, {5, 0, 2}, {0, 3, 5}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Assign(test.brokers, test.request)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}

func TestAssignRefuses(t *testing.T) {
	tests := []struct {
		name    string
		brokers []Broker
		request Request
		want    error
	}{
		{"no partitions", plain(1), Request{Partitions: 0, ReplicationFactor: 1}, ErrInvalidPartitions},
		{"no replicas", plain(1), Request{Partitions: 1, ReplicationFactor: 0}, ErrInvalidReplicationFactor},
		{"more replicas than brokers", plain(1, 2), Request{Partitions: 1, ReplicationFactor: 3}, ErrInvalidReplicationFactor},
		{"no brokers", nil, Request{Partitions: 1, ReplicationFactor: 1}, ErrInvalidReplicationFactor},
		{"some racks", []Broker{{1, "a"}, {2, ""}}, Request{Partitions: 1, ReplicationFactor: 1}, ErrMixedRacks},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Assign(test.brokers, test.request); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestAssignIsBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 12).Draw(t, "brokers")
		rackCount := rapid.IntRange(0, count).Draw(t, "racks")
		var brokers []Broker
		for id := range count {
			broker := Broker{ID: int32(id)}
			if rackCount > 0 {
				broker.Rack = string(rune('a' + id%rackCount))
			}
			brokers = append(brokers, broker)
		}
		request := Request{
			Partitions:        rapid.IntRange(1, 40).Draw(t, "partitions"),
			ReplicationFactor: rapid.IntRange(1, count).Draw(t, "replicas"),
			FirstPartition:    rapid.IntRange(0, 30).Draw(t, "first"),
			StartIndex:        rapid.IntRange(0, 100).Draw(t, "start"),
			Shift:             rapid.IntRange(0, 100).Draw(t, "shift"),
		}
		assignment, err := Assign(brokers, request)
		if err != nil {
			t.Fatal(err)
		}
		leads := map[int32]int{}
		for _, replicas := range assignment {
			leads[replicas[0]]++
			seen, racks := map[int32]bool{}, map[string]bool{}
			for _, replica := range replicas {
				if seen[replica] {
					t.Fatalf("replicas %v name a broker twice", replicas)
				}
				seen[replica] = true
				racks[brokers[replica].Rack] = true
			}
			if len(replicas) != request.ReplicationFactor {
				t.Fatalf("%d replicas, want %d", len(replicas), request.ReplicationFactor)
			}
			if rackCount > 0 && len(racks) != min(rackCount, request.ReplicationFactor) {
				t.Fatalf("replicas %v are on %d racks of %d", replicas, len(racks), rackCount)
			}
		}
		for id := range count {
			low, high := request.Partitions/count, (request.Partitions+count-1)/count
			if n := leads[int32(id)]; n < low || n > high {
				t.Fatalf("broker %d leads %d of %d partitions over %d brokers", id, n, request.Partitions, count)
			}
		}
	})
}
