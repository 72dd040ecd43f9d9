package metadata

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Under UnderreplicationPath is what autorecovery knows:
//
//	auditorelection/V_0000000003           ephemeral sequential: the lowest one's bookie is the auditor
//	ledgers/0000/0000/0000/0005/urL0000000005    the mark: ledger 5 lacks copies; four groups of the id in hexadecimal
//	locks/urL0000000005                    ephemeral: a worker has ledger 5 in hand
//	disable                                there: nothing is marked or copied
//	lostBookieRecoveryDelay                seconds that a bookie may be away before it counts as lost
const (
	UnderreplicationPath = underreplication
	MarksPath            = underreplication + "/ledgers"
	LocksPath            = underreplication + "/locks"
	ElectionPath         = underreplication + "/auditorelection"
	votePrefix           = "V_"
	markPrefix           = "urL"
	disableName          = "disable"
	delayPath            = underreplication + "/lostBookieRecoveryDelay"
)

// Mark says that a ledger lacks copies.
type Mark struct {
	Replicas []string  // the bookies that had them, host:port
	Created  time.Time // milliseconds; zero: not said
}

// Encode is the mark's value: an UnderreplicatedLedgerFormat in proto text format, as BookKeeper writes it.
func (m Mark) Encode() string {
	var text strings.Builder
	for _, replica := range m.Replicas {
		text.WriteString("replica: " + strconv.Quote(replica) + "\n")
	}
	if !m.Created.IsZero() {
		text.WriteString("ctime: " + strconv.FormatInt(m.Created.UnixMilli(), 10) + "\n")
	}
	return text.String()
}

// DecodeMark reads a mark's value.
func DecodeMark(text string) (Mark, error) {
	var m Mark
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "replica":
			replica, err := strconv.Unquote(value)
			if err != nil {
				return Mark{}, fmt.Errorf("mark of an under-replicated ledger: line %q: %w", line, err)
			}
			m.Replicas = append(m.Replicas, replica)
		case "ctime":
			created, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return Mark{}, fmt.Errorf("mark of an under-replicated ledger: line %q: %w", line, err)
			}
			m.Created = time.UnixMilli(created)
		}
	}
	return m, nil
}

// MarkPath is the znode that marks a ledger.
func MarkPath(ledger int64) string {
	h := fmt.Sprintf("%016x", uint64(ledger))
	return MarksPath + "/" + h[:4] + "/" + h[4:8] + "/" + h[8:12] + "/" + h[12:] + "/" + markName(ledger)
}

// LockPath is the znode that a worker holds while it has a marked ledger in hand.
func LockPath(ledger int64) string { return LocksPath + "/" + markName(ledger) }

func markName(ledger int64) string { return markPrefix + fmt.Sprintf("%010d", ledger) }

// MarkedLedger is the ledger of a mark's or a lock's name.
func MarkedLedger(name string) (ledger int64, ok bool) {
	digits, found := strings.CutPrefix(name, markPrefix)
	ledger, err := strconv.ParseInt(digits, 10, 64)
	return ledger, found && err == nil && markName(ledger) == name
}

// underreplicationAttempts: others make and delete marks and the znodes above them at the same time.
const underreplicationAttempts = 5

// MarkUnderreplicated marks a ledger, or adds to its mark. It returns the mark, and whether it says anything new.
func MarkUnderreplicated(store Store, ledger int64, missing []string, now time.Time) (Mark, bool, error) {
	at := MarkPath(ledger)
	fail := func(err error) (Mark, bool, error) {
		return Mark{}, false, fmt.Errorf("mark ledger %d as under-replicated: %w", ledger, err)
	}
	var err error
	for range underreplicationAttempts {
		mark := Mark{Replicas: slices.Clone(missing), Created: now.Truncate(time.Millisecond)}
		if err = CreateAll(store, at, []byte(mark.Encode())); err == nil {
			return mark, true, nil
		}
		if errors.Is(err, zk.ErrNoNode) {
			continue // the znodes above were deleted together with another mark
		}
		if !errors.Is(err, zk.ErrNodeExists) {
			return fail(err)
		}
		var value []byte
		var stat *zk.Stat
		if value, stat, err = store.Get(at); errors.Is(err, zk.ErrNoNode) {
			continue
		} else if err != nil {
			return fail(err)
		}
		known, err := DecodeMark(string(value))
		added := err != nil // what nobody understands is written anew
		for _, bookie := range missing {
			if !slices.Contains(known.Replicas, bookie) {
				known.Replicas, added = append(known.Replicas, bookie), true
			}
		}
		if !added {
			return known, false, nil
		}
		known.Created = mark.Created
		_, err = store.Set(at, []byte(known.Encode()), stat.Version)
		if err == nil {
			return known, true, nil
		}
		if !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) {
			return fail(err)
		}
	}
	return fail(err)
}

// MarkVersion is the version of a ledger's mark; false: there is none.
func MarkVersion(store Store, ledger int64) (version int32, found bool, err error) {
	found, stat, err := store.Exists(MarkPath(ledger))
	if err != nil {
		return 0, false, fmt.Errorf("look for the mark of ledger %d: %w", ledger, err)
	}
	if !found {
		return 0, false, nil
	}
	return stat.Version, true, nil
}

// Unmark deletes a ledger's mark, unless it has changed since version: then the ledger lacks more than was known, and false is returned.
// The znodes above the mark that are left without a child go with it.
func Unmark(store Store, ledger int64, version int32) (bool, error) {
	at := MarkPath(ledger)
	err := store.Delete(at, version)
	switch {
	case errors.Is(err, zk.ErrBadVersion):
		return false, nil
	case errors.Is(err, zk.ErrNoNode):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("delete the mark of ledger %d: %w", ledger, err)
	}
	for above := path.Dir(at); above != MarksPath; above = path.Dir(above) {
		if store.Delete(above, -1) != nil {
			break // another ledger's mark is there, or somebody else tidies up; what is left is no error
		}
	}
	return true, nil
}

// LockMarked takes a marked ledger in hand, on behalf of a bookie; false: somebody else has it. The lock ends with the session.
func LockMarked(store Store, ledger int64, bookie string) (bool, error) {
	_, err := store.Create(LockPath(ledger), []byte("bookieId: "+strconv.Quote(bookie)+"\n"), zk.FlagEphemeral, Open())
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock under-replicated ledger %d: %w", ledger, err)
	}
	return true, nil
}

// UnlockMarked lets go of a ledger, if session has its lock. A lock that is gone is no error.
func UnlockMarked(store Store, ledger, session int64) error {
	owns, err := OwnsLock(store, ledger, session)
	if owns {
		err = store.Delete(LockPath(ledger), -1)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("unlock under-replicated ledger %d: %w", ledger, err)
	}
	return nil
}

// OwnsLock tells whether a session has a ledger's lock; it may have expired.
func OwnsLock(store Store, ledger, session int64) (bool, error) {
	exists, stat, err := store.Exists(LockPath(ledger))
	return err == nil && exists && stat.EphemeralOwner == session, err
}

// Vote makes a candidate for the auditor's place, and returns its name below ElectionPath.
func Vote(store Store, bookie string) (string, error) {
	made, err := store.Create(ElectionPath+"/"+votePrefix, []byte("bookieId: "+strconv.Quote(bookie)+"\n"), zk.FlagEphemeral|zk.FlagSequence, Open())
	if err != nil {
		return "", fmt.Errorf("stand for auditor: %w", err)
	}
	return path.Base(made), nil
}

// FirstVote is the vote that makes its candidate the auditor; "" when there is none.
func FirstVote(names []string) string {
	votes := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, votePrefix) })
	if len(votes) == 0 {
		return ""
	}
	return slices.Min(votes)
}

// IsDisabled tells from the children of UnderreplicationPath whether autorecovery is switched off.
func IsDisabled(children []string) bool { return slices.Contains(children, disableName) }

// LostBookieRecoveryDelay is how long a bookie may be away, when ZooKeeper says so, and byDefault otherwise. BookKeeper writes whole seconds.
func LostBookieRecoveryDelay(store Store, byDefault time.Duration) (time.Duration, error) {
	value, _, err := store.Get(delayPath)
	if errors.Is(err, zk.ErrNoNode) {
		return byDefault, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", delayPath, err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 32)
	if err != nil || seconds < 0 {
		return byDefault, nil // what nobody understands is not obeyed
	}
	return time.Duration(seconds) * time.Second, nil
}

// CookiesPath has a child for every bookie that belongs to the cluster, whether it is there or not.
const CookiesPath = cookiesPath

// ReadOnlyPath has one ephemeral child for each bookie that only serves reads.
const ReadOnlyPath = readOnlyPath
