package errorname

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestErrorSix goes by its name of today, wherever it is found.
func TestErrorSix(t *testing.T) {
	if text := kerr.ErrorForCode(6).Error(); !strings.HasPrefix(text, "NOT_LEADER_OR_FOLLOWER: ") || kerr.NotLeaderForPartition.Code != 6 {
		t.Error(text)
	}
}
