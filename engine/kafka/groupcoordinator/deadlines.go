package groupcoordinator

import (
	"container/heap"
	"time"
)

// deadlines orders groups by when they have something to do. An entry whose time is not its group's any more is skipped.
type deadlines struct{ entries deadlineHeap }

type deadline struct {
	at    time.Time
	group *member
}

type deadlineHeap []deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h deadlineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlineHeap) Push(entry any)    { *h = append(*h, entry.(deadline)) }
func (h *deadlineHeap) Pop() any {
	last := len(*h) - 1
	entry := (*h)[last]
	(*h)[last] = deadline{}
	*h = (*h)[:last]
	return entry
}

// set says when a group has something to do. A later time than before is not entered at once: when the earlier one comes the group is looked
// at in vain and entered anew. So a thousand heartbeats of a group leave one entry.
func (d *deadlines) set(g *member) {
	at := g.NextDeadline()
	switch {
	case at.IsZero():
		g.due = time.Time{}
	case g.due.IsZero() || at.Before(g.due):
		g.due = at
		heap.Push(&d.entries, deadline{at, g})
	}
}

func (d *deadlines) next() (time.Time, bool) {
	for len(d.entries) > 0 {
		if first := d.entries[0]; first.group.due.Equal(first.at) {
			return first.at, true
		}
		heap.Pop(&d.entries)
	}
	return time.Time{}, false
}

// due takes the groups whose time has come.
func (d *deadlines) due(now time.Time) []*member {
	var list []*member
	for {
		at, any := d.next()
		if !any || at.After(now) {
			return list
		}
		g := heap.Pop(&d.entries).(deadline).group
		g.due = time.Time{}
		list = append(list, g)
	}
}
