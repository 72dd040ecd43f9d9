package interop

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"twinlog/engine/workload"
	"twinlog/engine/world"
)

// TestThePageShowsWhatClientsSee: after a workload with deaths, the state that the trace tells is the state that the protocols tell: every
// znode with its versions, every partition with its leader, ISR and end, every group with its offsets.
func TestThePageShowsWhatClientsSee(t *testing.T) {
	c := up(t)
	runWorkloadThroughDeaths(t, c)
	conn := connectZK(t, c)
	eventually(t, func() error { return compareZnodes(c, conn) })
	eventually(t, func() error { return compareKafka(t, c) })
}

func worldNow(c *classroom) (*world.State, error) {
	var answer struct{ State *world.State }
	err := c.api(http.MethodGet, "cluster", nil, &answer)
	return answer.State, err
}

// runWorkloadThroughDeaths ends when all that was acknowledged has been consumed and everything runs again.
func runWorkloadThroughDeaths(t *testing.T, c *classroom) {
	t.Helper()
	var started workload.Status
	if err := c.api(http.MethodPost, "workloads", workload.Spec{MessagesPerSecond: 100, Keys: 7}, &started); err != nil {
		t.Fatal(err)
	}
	progress(t, c, 300)
	before, err := worldNow(c)
	if err != nil {
		t.Fatal(err)
	}
	var owner string
	for _, topic := range before.Pulsar.Topics {
		owner = topic.Owner
	}
	victims := []string{fmt.Sprintf("kafka-%d", before.Kafka.Controller.Broker), owner, "bookie-2"}
	for _, victim := range victims {
		c.act(victim, "kill")
	}
	progress(t, c, 500)
	for _, victim := range victims {
		c.act(victim, "start")
	}
	progress(t, c, 500)
	var last workload.Status
	if err := c.api(http.MethodDelete, "workloads/"+started.ID, nil, &last); err != nil {
		t.Fatal(err)
	}
	for _, side := range last.Sides {
		if side.Failed > 0 {
			t.Errorf("%s: %d messages were given up: %s", side.Engine, side.Failed, side.LastError)
		}
	}
}

// progress waits until both sides have got so many more acknowledgements and have consumed them.
func progress(t *testing.T, c *classroom, more int64) {
	t.Helper()
	var goals []int64
	eventually(t, func() error {
		var list struct{ Workloads []workload.Status }
		if err := c.api(http.MethodGet, "workloads", nil, &list); err != nil {
			return err
		}
		for i, side := range list.Workloads[0].Sides {
			if len(goals) <= i {
				goals = append(goals, side.Acknowledged+more)
			}
			if side.Acknowledged < goals[i] || side.Acknowledged-side.Lag < goals[i] {
				return fmt.Errorf("%s is at %+v, the goal is %d", side.Engine, side, goals[i])
			}
		}
		return nil
	})
}

func compareZnodes(c *classroom, conn *zk.Conn) error {
	state, err := worldNow(c)
	if err != nil {
		return err
	}
	found := map[string]*zk.Stat{}
	if err := walk(conn, "/", found); err != nil {
		return err
	}
	delete(found, "/")
	maps.DeleteFunc(found, func(path string, _ *zk.Stat) bool { return strings.HasPrefix(path, "/zookeeper") }) // there from the beginning
	for path, stat := range found {
		known := state.Ensemble.Znodes[path]
		if known == nil {
			return fmt.Errorf("the page does not know %s", path)
		}
		owner := ""
		if stat.EphemeralOwner != 0 {
			owner = fmt.Sprintf("0x%x", uint64(stat.EphemeralOwner))
		}
		if known.Czxid != stat.Czxid || known.Mzxid != stat.Mzxid || known.Version != stat.Version || known.Session != owner || known.Bytes != int(stat.DataLength) {
			return fmt.Errorf("%s: the page shows %+v, a client sees %+v", path, *known, *stat)
		}
	}
	if len(found) < 50 || len(found) != len(state.Ensemble.Znodes) {
		return fmt.Errorf("the page shows %d znodes, a client sees %d", len(state.Ensemble.Znodes), len(found))
	}
	return nil
}

func walk(conn *zk.Conn, path string, found map[string]*zk.Stat) error {
	children, stat, err := conn.Children(path)
	if err != nil {
		return fmt.Errorf("listing %s: %w", path, err)
	}
	found[path] = stat
	for _, child := range children {
		if err := walk(conn, strings.TrimSuffix(path, "/")+"/"+child, found); err != nil {
			return err
		}
	}
	return nil
}

func compareKafka(t *testing.T, c *classroom) error {
	state, err := worldNow(c)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.kafka(), ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	metadata, err := admin.Metadata(ctx)
	if err != nil {
		return err
	}
	if metadata.Controller != state.Kafka.Controller.Broker || len(metadata.Topics) != len(state.Kafka.Topics) {
		return fmt.Errorf("controller %d and %d topics, the page shows %d and %d", metadata.Controller, len(metadata.Topics),
			state.Kafka.Controller.Broker, len(state.Kafka.Topics))
	}
	ends, err := admin.ListEndOffsets(ctx, metadata.Topics.Names()...)
	if err != nil {
		return err
	}
	committed, err := admin.FetchOffsets(ctx, "demo")
	if err != nil {
		return err
	}
	for _, topic := range metadata.Topics {
		for _, seen := range topic.Partitions {
			if err := comparePartition(state, seen, ends, committed); err != nil {
				return err
			}
		}
	}
	return nil
}

func comparePartition(state *world.State, seen kadm.PartitionDetail, ends kadm.ListedOffsets, committed kadm.OffsetResponses) error {
	number := strconv.Itoa(int(seen.Partition))
	name := seen.Topic + "-" + number
	topic := state.Kafka.Topics[seen.Topic]
	if topic == nil || topic.Partitions[number] == nil {
		return fmt.Errorf("the page does not know %s", name)
	}
	known := topic.Partitions[number]
	if known.Leader != seen.Leader || known.LeaderEpoch != seen.LeaderEpoch || !sameMembers(known.ISR, seen.ISR) || !slices.Equal(known.Replicas, seen.Replicas) {
		return fmt.Errorf("%s: the page shows %+v, a client sees %+v", name, *known, seen)
	}
	end, _ := ends.Lookup(seen.Topic, seen.Partition)
	for broker, log := range known.Logs {
		if log.LEO != end.Offset || log.HighWatermark != end.Offset {
			return fmt.Errorf("%s on broker %s: the page shows %+v, the end is %d", name, broker, *log, end.Offset)
		}
	}
	if offset, found := committed.Lookup(seen.Topic, seen.Partition); found {
		if shown := state.Kafka.Groups["demo"].Offsets[name]; shown != offset.At {
			return fmt.Errorf("%s: the page shows %d as committed, a client sees %d", name, shown, offset.At)
		}
	}
	return nil
}

func sameMembers(a, b []int32) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
