package broker

import (
	"testing"
	"time"
)

func TestALookIsSparedOnceAfterAPause(t *testing.T) {
	const every = time.Second
	spared := false
	for i, look := range []struct {
		passed time.Duration
		want   bool
	}{
		{time.Second, false}, {1400 * time.Millisecond, false},
		{5 * time.Second, true}, {5 * time.Second, false}, // late again: who lags by now leaves the ISR
		{5 * time.Second, true}, {time.Second, false}, {time.Second, false},
	} {
		if spared = spares(look.passed, every, spared); spared != look.want {
			t.Errorf("look %d, %v after the one before: spared is %t", i, look.passed, spared)
		}
	}
}
