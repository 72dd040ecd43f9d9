package managedledger_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/media"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/managedledger"
)

// deafStore does what it is asked once it is deaf to the answers, and says that it could not.
type deafStore struct {
	metadata.Store
	deaf *bool
	done *bool
}

func (s deafStore) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	if *s.deaf {
		if !*s.done {
			*s.done = true
			if _, err := s.Store.Set(path, data, version); err != nil {
				return nil, err
			}
		}
		return nil, zk.ErrConnectionClosed
	}
	return s.Store.Set(path, data, version)
}

// deafWhenPut becomes deaf with the index: the next change of the metadata is the completion.
type deafWhenPut struct {
	*media.Memory
	deaf *bool
}

func (m deafWhenPut) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	err := m.Memory.Put(ctx, name, content, size)
	*m.deaf = *m.deaf || strings.HasSuffix(name, "-index")
	return err
}

// A completion that was written down and not answered counts: what the metadata points to is not removed.
func TestOffloadWhoseCompletionIsNotAnswered(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		medium, deaf, done := media.NewMemory(), false, false
		first := c.broker("pulsar-1", func(config *managedledger.Config) {
			offloading(managedledger.Config{Medium: deafWhenPut{medium, &deaf}})(config)
			config.Store = deafStore{config.Store, &deaf, &done}
		})
		m := openWith(t, first, keepInBookies)
		p := &producer{ledger: m}
		p.addAll(t, 15)
		want(t, "the owner's view", offloadAll(t, m).State, managedledger.OffloadError)
		first.kill()
		taken := openWith(t, c.broker("pulsar-2", offloading(managedledger.Config{Medium: medium})), keepInBookies)
		synctest.Wait()
		want(t, "the ledger is offloaded", taken.Ledgers()[0].Offloaded(), true)
		wantSame(t, "objects", objects(t, medium), pointedTo(taken))
		want(t, "objects", len(objects(t, medium)), 2)
		verifyAll(t, taken, p.positions)
	})
}
