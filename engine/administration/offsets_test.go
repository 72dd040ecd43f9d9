package administration

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"twinlog/engine/sentence"
)

func TestWhereOffsetsAreResetTo(t *testing.T) {
	listed := func(offsets ...int64) kadm.ListedOffsets {
		partitions := map[int32]kadm.ListedOffset{}
		for partition, offset := range offsets {
			partitions[int32(partition)] = kadm.ListedOffset{Topic: "orders", Partition: int32(partition), Offset: offset}
		}
		return kadm.ListedOffsets{"orders": partitions}
	}
	at := func(offsets map[int32]int64) (all []CommittedOffset) {
		for _, partition := range []int32{0, 1} {
			if offset, there := offsets[partition]; there {
				all = append(all, CommittedOffset{"orders", partition, offset})
			}
		}
		return all
	}
	second, third := int32(1), int32(2)
	for _, c := range []struct {
		reset OffsetReset
		want  []CommittedOffset
		err   error
	}{
		{OffsetReset{To: "earliest"}, at(map[int32]int64{0: 3, 1: 0}), nil},
		{OffsetReset{To: "latest", Partition: &second}, at(map[int32]int64{1: 10}), nil},
		{OffsetReset{To: "offset", Partition: &second, Offset: 7}, at(map[int32]int64{1: 7}), nil},
		{OffsetReset{To: "offset", Partition: &second, Offset: 10}, at(map[int32]int64{1: 10}), nil},
		{OffsetReset{To: "offset", Partition: &second, Offset: 11}, nil, ErrInvalid},
		{OffsetReset{To: "offset", Partition: &second, Offset: -1}, nil, ErrInvalid},
		{OffsetReset{To: "earliest", Partition: &third}, nil, ErrNotFound},
	} {
		c.reset.Topic = "orders"
		got, err := c.reset.targets(listed(3, 0), listed(9, 10), sentence.Of("test", "resetting"))
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%+v: %+v, %v; want %+v, %v", c.reset, got, err, c.want, c.err)
		}
	}
	for _, wrong := range []OffsetReset{{To: "latest"}, {Topic: "orders", To: "first"}, {Topic: "orders", To: "offset"}} {
		if err := wrong.check(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
