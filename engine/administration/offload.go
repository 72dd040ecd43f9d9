package administration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"twinlog/engine/sentence"
)

// Offload says which ledgers of a topic are to be copied to the medium of tiered storage.
type Offload struct {
	Topic string `json:"topic"` // orders, or persistent://public/default/orders; of a partitioned one, one partition
	// Keep is how many bytes of the newest ledgers may stay in bookies alone (--size-threshold); the ledger that takes the adds always does.
	Keep int64 `json:"keep"`
}

// Offloaded is what became of it.
type Offloaded struct {
	Topic  string `json:"topic"`
	Ledger int64  `json:"ledger"` // the first one that is not offloaded
	Status string `json:"status"` // SUCCESS, or RUNNING when it takes longer than the answer
}

// offloadPatience bounds how long an offload is waited for.
const offloadPatience = 10 * time.Second

// internalLedger is one of a topic's ledgers in Pulsar's internal statistics.
type internalLedger struct {
	ID   int64 `json:"ledgerId"`
	Size int64 `json:"size"`
}

// OffloadTopic does what pulsar-admin topics offload and offload-status do: it finds the first ledger that stays, has the broker offload
// everything before it, and waits for that.
func (a *Administrator) OffloadTopic(ctx context.Context, wanted Offload) (Offloaded, error) {
	name, err := FullPulsarName(wanted.Topic)
	if err != nil {
		return Offloaded{}, err
	}
	doing := sentence.Of("offloadingTopic", `offloading ledgers of "{topic}"`, name)
	if wanted.Keep < 0 {
		return Offloaded{}, sentence.Error(ErrInvalid, "offloadKeepsWhat", "{doing}: {given} is no size that bookies can keep", doing, wanted.Keep)
	}
	path := "/admin/v2/" + strings.Replace(name, "://", "/", 1)
	var internal struct {
		Ledgers []internalLedger `json:"ledgers"`
	}
	if err := a.pulsar(ctx, http.MethodGet, path+"/internalStats", "", &internal, doing); err != nil {
		return Offloaded{}, err
	}
	stays, found := firstThatStays(internal.Ledgers, wanted.Keep)
	if !found {
		return Offloaded{}, sentence.Error(ErrConflict, "nothingToOffload",
			"{doing}: there is nothing to offload. The ledger that takes the adds stays with the bookies; it is closed when it is full, or when the topic's bundle is unloaded", doing)
	}
	offload := Offloaded{Topic: name, Ledger: stays}
	if err := a.beginOffload(ctx, path+"/offload", offload, doing); err != nil {
		return Offloaded{}, err
	}
	return a.awaitOffload(ctx, path+"/offload", offload, doing)
}

func (a *Administrator) beginOffload(ctx context.Context, path string, offload Offloaded, doing sentence.Sentence) error {
	err := a.pulsar(ctx, http.MethodPut, path, fmt.Sprintf(`{"ledgerId":%d,"entryId":0}`, offload.Ledger), nil, doing)
	if doneBefore(err, ErrConflict) {
		return nil // it is under way: the broker that failed had begun it
	}
	return err
}

// firstThatStays is the ledger before which everything is offloaded: the newest ledgers stay as long as they have no more than keep bytes
// together, and the last one, which takes the adds, in any case. There is none when nothing is before it.
func firstThatStays(ledgers []internalLedger, keep int64) (id int64, found bool) {
	var size int64
	for i, ledger := range slices.Backward(ledgers) {
		if size += ledger.Size; size > keep || i == 0 {
			// This ledger is too much; the one after it is the first that stays.
			at := min(i+1, len(ledgers)-1)
			return ledgers[at].ID, size > keep && at > 0
		}
	}
	return 0, false
}

func (a *Administrator) awaitOffload(ctx context.Context, path string, offload Offloaded, doing sentence.Sentence) (Offloaded, error) {
	patience := time.After(offloadPatience)
	for {
		var status struct {
			Status    string `json:"status"`
			LastError string `json:"lastError"`
		}
		if err := a.pulsar(ctx, http.MethodGet, path, "", &status, doing); err != nil {
			return offload, err
		}
		offload.Status = status.Status
		switch status.Status {
		case "RUNNING":
		case "NOT_RUN": // the topic has another owner by now, which nobody has asked
			if err := a.beginOffload(ctx, path, offload, doing); err != nil {
				return offload, err
			}
			offload.Status = "RUNNING"
		case "ERROR":
			return offload, sentence.Error(nil, "couldNot", "{doing}: {why}", doing, status.LastError)
		default:
			return offload, nil
		}
		select {
		case <-time.After(pollEvery):
		case <-patience:
			return offload, nil
		case <-ctx.Done():
			return offload, ctx.Err()
		}
	}
}
