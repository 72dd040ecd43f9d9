package action

import (
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestProgress: who has committed nothing is not one who has committed offset 0, and not one who has read everything.
func TestProgress(t *testing.T) {
	ends := kadm.ListedOffsets{"orders": {0: {Offset: 10}, 1: {Offset: 5}}}
	starts := kadm.ListedOffsets{"orders": {0: {}, 1: {}}}
	at := func(offset, lag int64) kadm.GroupMemberLag {
		return kadm.GroupMemberLag{Commit: kadm.Offset{At: offset}, Lag: lag}
	}
	for name, each := range map[string]struct {
		lag             kadm.GroupLag
		committed, left map[string]int64
	}{
		"ended without a commit":  {nil, map[string]int64{}, map[string]int64{}},
		"runs, nothing committed": {kadm.GroupLag{"orders": {0: at(-1, 10), 1: at(-1, 5)}}, map[string]int64{}, map[string]int64{"orders": 15}},
		"committed offset 0":      {kadm.GroupLag{"orders": {0: at(0, 10)}}, map[string]int64{"orders": 0}, map[string]int64{"orders": 15}},
		"has read one partition":  {kadm.GroupLag{"orders": {0: at(10, 0)}}, map[string]int64{"orders": 10}, map[string]int64{"orders": 5}},
	} {
		group := progress(kadm.DescribedGroupLag{Lag: each.lag}, starts, ends)
		if !maps.Equal(group.Committed, each.committed) || !maps.Equal(group.Lag, each.left) {
			t.Errorf("%s: committed %v, lag %v; want %v, %v", name, group.Committed, group.Lag, each.committed, each.left)
		}
	}
}
