package replica

import "testing"

func TestCourseOfADamagedReplica(t *testing.T) {
	const local = 1
	unreadable, lostEnd, spoiled := Damage{Epoch: Undefined}, Damage{Epoch: Undefined, Readable: true}, Damage{Epoch: 5, Readable: true}
	for name, test := range map[string]struct {
		damage Damage
		leader int32
		epoch  int32
		isr    []int32
		want   Course
	}{
		"at the start, out of the ISR":                      {unreadable, 2, 0, []int32{2}, BeginAnew},
		"at the start, still in the ISR":                    {unreadable, 2, 0, []int32{1, 2}, StepAside},
		"at the start, as the leader":                       {unreadable, 1, 0, []int32{1, 2}, StepAside},
		"nobody else has it, and it cannot be read":         {unreadable, 1, 0, []int32{1}, StepAside},
		"nobody leads, and it cannot be read":               {unreadable, -1, 0, []int32{1}, StepAside},
		"nobody leads, and it is out of the ISR":            {unreadable, -1, 0, []int32{2}, StepAside},
		"the end is gone, and others have it":               {lostEnd, 1, 0, []int32{1, 2, 3}, StepAside},
		"the end is gone, and nobody else is in sync":       {lostEnd, 1, 0, []int32{1}, Serve},
		"the end is gone, and nobody leads":                 {lostEnd, -1, 3, []int32{1}, Serve},
		"the end is gone, out of the ISR":                   {lostEnd, 3, 0, []int32{3}, BeginAnew},
		"while it leads":                                    {spoiled, 1, 5, []int32{1, 2}, StepAside},
		"while it leads alone":                              {spoiled, 1, 5, []int32{1}, Serve},
		"out of the ISR in the same epoch: maybe no longer": {spoiled, 2, 5, []int32{2}, StepAside},
		"out of the ISR in a later epoch":                   {spoiled, 2, 6, []int32{2}, BeginAnew},
		"in the ISR in a later epoch":                       {spoiled, 2, 6, []int32{1, 2}, StepAside},
	} {
		if got := test.damage.Course(local, Assignment{Leader: test.leader, LeaderEpoch: test.epoch, ISR: test.isr}); got != test.want {
			t.Errorf("%s: %v, not %v", name, got, test.want)
		}
	}
}
