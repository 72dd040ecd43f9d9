package fabric

import (
	"sync"
	"time"
)

// deadline is a point in time that a wait can select on and that can be moved while it waits.
type deadline struct {
	mu      sync.Mutex
	setting uint64 // counts the settings, so that the timer of an old one is recognised
	timer   *time.Timer
	expired chan struct{}
	over    bool
}

func newDeadline() *deadline { return &deadline{expired: make(chan struct{})} }

// done returns the channel that is closed when the deadline has passed. A later set may bring another channel.
func (d *deadline) done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expired
}

// set moves the deadline; the zero time means none.
func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setting++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.over {
		d.expired, d.over = make(chan struct{}), false
	}
	if at.IsZero() {
		return
	}
	wait := time.Until(at)
	if wait <= 0 {
		close(d.expired)
		d.over = true
		return
	}
	setting := d.setting
	d.timer = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.setting == setting {
			close(d.expired)
			d.over = true
		}
	})
}
