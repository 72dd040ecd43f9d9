package managedledger_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/media"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/managedledger"
)

// steps counts what a broker does to the medium and to ZooKeeper, and lets the broker die at one of these steps: before it is done, or
// when it is done and the broker does not know.
type steps struct {
	mu    sync.Mutex
	taken []string
	die   int // at this step, from 1; 0: never
	after bool
	dead  chan struct{} // closed then
	sever func()
}

var errDead = fmt.Errorf("the broker is dead: %w", zk.ErrClosing)

func (s *steps) do(what string, do func() error) error {
	s.mu.Lock()
	select {
	case <-s.dead:
		s.mu.Unlock()
		return errDead
	default:
	}
	s.taken = append(s.taken, what)
	dies := len(s.taken) == s.die
	if dies {
		close(s.dead)
	}
	s.mu.Unlock()
	if !dies {
		return do()
	}
	if s.after {
		_ = do()
	}
	s.sever()
	return errDead
}

// steppedMedium and steppedStore are a broker's ways to the medium and to ZooKeeper.
type steppedMedium struct {
	*media.Memory
	*steps
}

func (m steppedMedium) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	return m.do("put", func() error { return m.Memory.Put(ctx, name, content, size) })
}

func (m steppedMedium) Remove(ctx context.Context, name string) error {
	return m.do("remove", func() error { return m.Memory.Remove(ctx, name) })
}

func (m steppedMedium) ReadAt(ctx context.Context, name string, p []byte, offset int64) (n int, err error) {
	err = m.do("read", func() error { n, err = m.Memory.ReadAt(ctx, name, p, offset); return err })
	return n, err
}

type steppedStore struct {
	metadata.Store
	*steps
}

func (s steppedStore) Set(path string, data []byte, version int32) (stat *zk.Stat, err error) {
	err = s.do("set", func() error { stat, err = s.Store.Set(path, data, version); return err })
	return stat, err
}

// The owner dies at each step of offloading and of leaving the bookies. Its successor reads everything, cleans up what it finds, and brings
// the work to its end; nothing is left on the medium that the metadata does not point to.
func TestOffloadSurvivesACrashAtEachStep(t *testing.T) {
	points := 0
	for _, after := range []bool{false, true} {
		for die := 1; ; die++ {
			reached := false
			what := ""
			t.Run(fmt.Sprintf("step %d, after %v", die, after), func(t *testing.T) {
				run(t, func(t *testing.T, c *cluster) { what, reached = offloadWithACrash(t, c, die, after) })
			})
			if !reached {
				if die < 15 {
					t.Errorf("the offload has %d steps only", die-1)
				}
				break
			}
			if t.Failed() {
				t.Fatalf("the crash at step %d (%s, done: %v) is not survived", die, what, after)
			}
			points++
		}
	}
	t.Logf("%d crash points", points)
}

func offloadWithACrash(t *testing.T, c *cluster, die int, after bool) (what string, reached bool) {
	medium := media.NewMemory()
	s := &steps{after: after, dead: make(chan struct{})}
	first := c.broker("pulsar-1", func(config *managedledger.Config) {
		offloading(managedledger.Config{Medium: steppedMedium{medium, s}})(config)
		config.Store = steppedStore{config.Store, s}
	})
	s.sever = func() { first.view.Sever(); first.session.End() }
	m := openWith(t, first, leaveAtOnce)
	p := &producer{ledger: m}
	p.addAll(t, 25)
	synctest.Wait()
	s.mu.Lock()
	s.taken, s.die = nil, die
	s.mu.Unlock()
	noError(t, m.Offload(t.Context(), position{Ledger: m.Ledgers()[2].Ledger}))
	synctest.Wait() // the work is done, or the broker is dead
	if reached = len(s.taken) >= die; reached {
		what = s.taken[die-1]
	}
	first.kill()

	second := c.broker("pulsar-2", offloading(managedledger.Config{Medium: medium}))
	taken := openWith(t, second, leaveAtOnce)
	verifyAll(t, taken, p.positions)
	synctest.Wait()
	wantSame(t, "objects after the takeover", objects(t, medium), pointedTo(taken))
	verifyAll(t, taken, p.positions)
	status := offloadAll(t, taken)
	want(t, "state", status.State, managedledger.OffloadSuccess)
	want(t, "ledgers in bookies", len(inBookies(t, second)), 1)
	for _, info := range taken.Ledgers()[:len(taken.Ledgers())-1] {
		want(t, "the ledger is on the medium alone", info.Offload != nil && info.Offload.Complete && info.Offload.DeletedFromBookies, true)
	}
	wantSame(t, "objects in the end", objects(t, medium), pointedTo(taken))
	verifyAll(t, taken, p.positions)
	return what, reached
}
