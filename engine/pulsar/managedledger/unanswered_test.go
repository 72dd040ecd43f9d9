package managedledger

import (
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
)

// hasty is a session whose connection ends before the answers of its first writes: they may have been done, or not.
type hasty struct {
	metadata.Store
	done, lost int // of the next writes: that are done and not answered, that do not arrive
}

func (h *hasty) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if h.lost > 0 {
		h.lost--
		return "", zk.ErrConnectionClosed
	}
	name, err := h.Store.Create(path, data, flags, acl)
	if h.done > 0 {
		h.done--
		return "", zk.ErrConnectionClosed
	}
	return name, err
}

func TestACreationWhoseAnswerIsLostIsNobodyElses(t *testing.T) {
	for name, c := range map[string]struct {
		done, lost int
		there      string // written before by somebody else
		want       error
	}{
		"answered":                 {},
		"done and not answered":    {done: 1},
		"not done":                 {lost: 2},
		"never done":               {lost: 3, want: ErrStorage},
		"somebody else's":          {there: "theirs", want: ErrFenced},
		"unanswered, and not ours": {lost: 1, there: "theirs", want: ErrFenced},
	} {
		t.Run(name, func(t *testing.T) {
			session, err := memorystore.NewServer().Connect()
			if err != nil {
				t.Fatal(err)
			}
			if c.there != "" {
				if _, err := session.Store.Create("/cursor", []byte(c.there), zk.FlagPersistent, metadata.Open()); err != nil {
					t.Fatal(err)
				}
			}
			store := &hasty{Store: session.Store, done: c.done, lost: c.lost}
			if err := createValue(store, "/cursor", []byte("ours")); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
