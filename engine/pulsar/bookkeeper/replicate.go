package bookkeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

var (
	// ErrNoCopy: an entry cannot be read from any bookie that should have it.
	ErrNoCopy = errors.New("no bookie that is there has a copy")
	// ErrMoved: somebody else changed the fragment meanwhile; whoever wants to replicate it looks at the ledger again.
	ErrMoved = errors.New("the fragment was changed by somebody else")
)

const (
	replicateFirst   = 4                      // entries of the first batch: nothing is known of their sizes, nor how fast the bookies are
	replicateEntries = 128                    // entries that are copied at the same time, at most
	replicateBytes   = 4 << 20                // their bytes, about
	replicateTime    = 200 * time.Millisecond // how long they may take, about
)

// Replicate copies what the missing bookies of a closed fragment held from bookies that are there to others, and then names those in the
// ledger's metadata. The copies are made first: whoever reads the metadata finds them. ErrNoCopy, ErrMoved, ledger.ErrNotEnoughBookies.
//
// An add for this purpose is one of recovery: bookies take it for a ledger that is fenced, and the digest in the entry is the writer's own.
//
// It returns the metadata as it is then.
func (c *Client) Replicate(ctx context.Context, id int64, found metadata.Versioned, lack ledger.Lack) (metadata.Versioned, error) {
	if lack.Open {
		return found, fmt.Errorf("ledger %d: the fragment from entry %d on is open: only its writer may change its ensemble", id, lack.FirstEntry)
	}
	ensemble, err := lack.Replace(c.choice())
	if err != nil {
		return found, fmt.Errorf("ledger %d: replicate entries %d to %d: %w", id, lack.FirstEntry, lack.LastEntry, err)
	}
	copying, err := c.newCopying(id, found, lack, ensemble)
	if err != nil {
		return found, err
	}
	c.tracer.Emit(trace.ReplicationStarted{
		Ledger: id, FirstEntry: lack.FirstEntry, LastEntry: lack.LastEntry, Lost: lack.Lost(), Replacements: copying.replacements(),
	})
	if err := copying.run(ctx); err != nil {
		return found, fmt.Errorf("ledger %d: replicate entries %d to %d: %w", id, lack.FirstEntry, lack.LastEntry, err)
	}
	now, err := c.updateMetadata(ctx, id, found, func(m ledger.Metadata) (ledger.Metadata, error) {
		changed, ok := m.WithReplicated(lack.FirstEntry, lack.Bookies, ensemble)
		if !ok {
			return m, fmt.Errorf("ledger %d: fragment from entry %d on: %w", id, lack.FirstEntry, ErrMoved)
		}
		return changed, nil
	})
	if err != nil {
		return found, err
	}
	c.tracer.Emit(trace.FragmentReplicated{
		Ledger: id, FirstEntry: lack.FirstEntry, LastEntry: lack.LastEntry, Ensemble: ensemble, Lost: lack.Lost(),
		Replacements: copying.replacements(), Entries: copying.entries, Bytes: copying.bytes,
	})
	return now, nil
}

// copying is one fragment on its way.
type copying struct {
	client    *Client
	id        int64
	metadata  ledger.Metadata
	lack      ledger.Lack
	ensemble  []string // the new one
	sealer    *ledger.Sealer
	masterKey []byte

	batch   int   // entries of the next batch
	entries int64 // copies made
	bytes   int64
}

func (c *Client) newCopying(id int64, found metadata.Versioned, lack ledger.Lack, ensemble []string) (*copying, error) {
	sealer, err := ledger.NewSealer(id, found.Digest, found.Password)
	if err != nil {
		return nil, err
	}
	return &copying{
		client: c, id: id, metadata: found.Metadata, lack: lack, ensemble: ensemble, sealer: sealer,
		masterKey: ledger.MasterKey(found.Password), batch: replicateFirst,
	}, nil
}

// replacements are the new bookies in the order of the missing ones.
func (r *copying) replacements() []string {
	bookies := make([]string, len(r.lack.Missing))
	for i, index := range r.lack.Missing {
		bookies[i] = r.ensemble[index]
	}
	return bookies
}

// run copies batch after batch: the entries that missing bookies held.
func (r *copying) run(ctx context.Context) error {
	for next := r.lack.FirstEntry; ; {
		var batch []int64
		for ; next <= r.lack.LastEntry && len(batch) < r.batch; next++ {
			if len(r.lack.Holders(next, r.metadata.WriteQuorum)) > 0 {
				batch = append(batch, next)
			}
		}
		if len(batch) == 0 {
			return nil
		}
		begun := time.Now()
		entries, err := r.client.readEach(ctx, r.id, r.metadata, r.sealer, len(batch), func(i int) int64 { return batch[i] })
		switch {
		case err == nil:
			if err := r.add(ctx, entries); err != nil {
				return err
			}
			r.adapt(entries, time.Since(begun))
		case ctx.Err() != nil:
			return err
		case !errors.Is(err, errTimeout):
			return fmt.Errorf("%w: %w", ErrNoCopy, err)
		case len(batch) == 1:
			return err
		default: // too much for a slow bookie
			next, r.batch = batch[0], max(1, len(batch)/4)
		}
	}
}

// adapt makes the next batch larger or smaller, by how long this one took and how large its entries are.
func (r *copying) adapt(entries []Entry, took time.Duration) {
	size := 1
	for _, entry := range entries {
		size = max(size, len(entry.sealed))
	}
	if took > replicateTime {
		r.batch /= 2
	} else {
		r.batch *= 2
	}
	r.batch = max(1, min(r.batch, replicateEntries, replicateBytes/size))
}

// add sends entries to the bookies that take a missing one's place, and waits until they have them.
func (r *copying) add(ctx context.Context, entries []Entry) error {
	answers := make(chan error, len(entries)*len(r.lack.Missing)) // every bookie answers once: nobody waits
	sent := 0
	for _, entry := range entries {
		for _, index := range r.lack.Holders(entry.Entry, r.metadata.WriteQuorum) {
			r.send(r.ensemble[index], entry, answers)
			sent++
			r.bytes += int64(len(entry.sealed))
		}
	}
	for range sent {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-answers:
			if err != nil {
				return err
			}
		}
	}
	r.entries += int64(sent)
	return nil
}

func (r *copying) send(bookie string, entry Entry, answers chan<- error) {
	request := &wire.Request{
		Operation: wire.AddEntry, Ledger: r.id, Entry: entry.Entry, MasterKey: r.masterKey, Body: entry.sealed, Recovery: true,
		PreviousLAC: wire.NoLAC,
	}
	r.client.send(bookie, request, r.client.config.AddTimeout, func(response *wire.Response, err error) {
		if err == nil && response.Status != wire.OK {
			err = fmt.Errorf("bookie %s: add entry %d: %v", bookie, entry.Entry, response.Status)
		}
		if err != nil {
			r.client.suspect(bookie) // another one is chosen the next time, if there is one
		}
		answers <- err
	})
}
