package controllerdriver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/sentence"
)

// term is this broker's time in office, from winning /controller to losing it. Its fields belong to the goroutine of Driver.Run; ctx and
// goroutines may be used by all.
type term struct {
	driver *Driver
	ctx    context.Context
	cancel context.CancelFunc
	// epochVersion is the version of /controller_epoch that every write checks.
	epochVersion int32
	state        *controller.State
	senders      map[int32]*sender
	goroutines   sync.WaitGroup
	// watched are the topics whose znode is watched.
	watched map[string]bool
}

// serve leads until something ends the term, and returns what did.
func (t *term) serve(ctx context.Context) (reason error) {
	if err := t.takeOver(); err != nil {
		return err
	}
	t.driver.inOffice.Store(true)
	var imbalanceCheck <-chan time.Time
	if !t.driver.config.DisableLeaderRebalance {
		timer := time.NewTimer(firstImbalanceCheck)
		defer timer.Stop()
		imbalanceCheck = timer.C
	}
	for {
		var err error
		name := "leader imbalance check"
		select {
		case <-ctx.Done():
			return sentence.Error(nil, "brokerShutsDown", "the broker shuts down")
		case e := <-t.driver.events:
			if e.term != nil && e.term != t {
				continue // about an earlier term
			}
			name, err = e.name, e.run(t)
		case <-imbalanceCheck:
			imbalanceCheck = time.After(t.driver.config.LeaderImbalanceCheckInterval)
			err = t.carryOut(t.state.Rebalance())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// takeOver is Kafka's failover in its order: watches first, then reading, so that no change falls between; then the plan, which begins by
// telling the brokers about each other.
func (t *term) takeOver() error {
	if err := t.watchOffice(); err != nil {
		return err
	}
	if err := t.discardNotifications(); err != nil {
		return err
	}
	snapshot, err := t.load()
	if err != nil {
		return err
	}
	if err := t.carryOut(t.state.Start(snapshot)); err != nil {
		return err
	}
	return t.preferredElectionWanted()
}

// carryOut does what a plan says, in its order. An error means that the copy and the znodes may differ, so the term must end.
func (t *term) carryOut(plan controller.Plan) error {
	if err := t.write(plan.Writes); err != nil {
		return err
	}
	for _, event := range plan.Events {
		t.driver.config.Tracer.Emit(event)
	}
	t.matchSenders()
	for _, request := range plan.Requests {
		if err := t.send(request); err != nil {
			return err
		}
	}
	return nil
}

// post hands an event to the owner's goroutine from one of the term's own.
func (t *term) post(name string, run func(*term) error) {
	select {
	case t.driver.events <- event{name: name, term: t, run: run}:
	case <-t.ctx.Done():
	}
}

// on runs something when a watch fires. A watch that ends with an error tells of the session's end.
func (t *term) on(changed <-chan zk.Event, name string, run func(*term) error) {
	t.goroutines.Go(func() {
		select {
		case e := <-changed:
			if e.Err != nil {
				t.post(name, func(*term) error { return sentence.Error(nil, "watchLost", "the watch was lost: {why}", e.Err) })
				return
			}
			t.post(name, run)
		case <-t.ctx.Done():
		}
	})
}

// watchOffice ends the term when /controller is not this session's any more.
func (t *term) watchOffice() error {
	conn := t.driver.config.ZooKeeper
	var stat *zk.Stat
	var changed <-chan zk.Event
	err := t.driver.patiently(t.ctx, func() (err error) {
		_, stat, changed, err = conn.GetW(metadata.ControllerPath)
		return err
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", metadata.ControllerPath, err)
	}
	if stat.EphemeralOwner != conn.SessionID() {
		return sentence.Error(nil, "anotherController", "another broker is the controller")
	}
	t.on(changed, "controller changed", func(t *term) error { return t.watchOffice() })
	return nil
}
