package workload

import "time"

// pace says when the next message is due. It makes up for a moment of waiting, but not for a long one: a cluster that comes back is not
// greeted with all that it missed.
type pace struct {
	interval time.Duration // between two messages
	next     time.Time     // when the next one is due
}

const (
	// mostBehind is how much is made up for.
	mostBehind = time.Second
	// leastSleep: shorter sleeps cost more than they give; messages go out in small bursts instead.
	leastSleep = 2 * time.Millisecond
)

func newPace(now time.Time, perSecond, producers int) pace {
	return pace{interval: time.Second * time.Duration(producers) / time.Duration(perSecond), next: now}
}

// delay takes the next message's turn and says how long to wait before sending it.
func (p *pace) delay(now time.Time) time.Duration {
	if now.Sub(p.next) > mostBehind {
		p.next = now.Add(-mostBehind)
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(p.interval)
	if wait < leastSleep {
		return 0
	}
	return wait
}
