package administration

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhatStaysInBookies(t *testing.T) {
	ledgers := []internalLedger{{1, 100}, {3, 100}, {4, 100}, {9, 30}}
	for _, c := range []struct {
		name    string
		ledgers []internalLedger
		keep    int64
		want    int64 // 0: nothing to offload
	}{
		{"all but the current one", ledgers, 0, 9},
		{"the current one is kept although it is larger", ledgers, 29, 9},
		{"one sealed one is kept", ledgers, 130, 4},
		{"a byte less, and it is not", ledgers, 129, 9},
		{"all but the oldest", ledgers, 329, 3},
		{"everything is kept", ledgers, 330, 0},
		{"an empty current ledger", []internalLedger{{1, 100}, {3, 0}}, 0, 3},
		{"a single ledger", []internalLedger{{1, 100}}, 0, 0},
		{"no ledger", nil, 0, 0},
	} {
		got, found := firstThatStays(c.ledgers, c.keep)
		if !found {
			got = 0
		}
		if got != c.want {
			t.Errorf("%s: ledger %d stays first, want %d", c.name, got, c.want)
		}
	}
}

// The broker's answers lead to what pulsar-admin would say.
func TestOffloadIsWaitedFor(t *testing.T) {
	asked := 0
	last := `{"status":"SUCCESS","lastError":""}`
	ledgers := `{"ledgers":[{"ledgerId":1,"size":100},{"ledgerId":3,"size":5}]}`
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /admin/v2/persistent/public/default/orders/internalStats":
			w.Write([]byte(ledgers))
		case "PUT /admin/v2/persistent/public/default/orders/offload":
			w.WriteHeader(http.StatusNoContent)
		case "GET /admin/v2/persistent/public/default/orders/offload":
			if asked++; asked%2 == 1 {
				w.Write([]byte(`{"status":"RUNNING","lastError":""}`))
				return
			}
			w.Write([]byte(last))
		default:
			http.NotFound(w, r)
		}
	}))
	defer broker.Close()
	admin := New(func() Addresses { return Addresses{PulsarAdmin: []string{broker.URL}} })
	done, err := admin.OffloadTopic(t.Context(), Offload{Topic: "orders"})
	if want := (Offloaded{Topic: "persistent://public/default/orders", Ledger: 3, Status: "SUCCESS"}); err != nil || done != want {
		t.Errorf("got %+v, %v; want %+v", done, err, want)
	}
	last = `{"status":"ERROR","lastError":"the medium is full"}`
	if _, err := admin.OffloadTopic(t.Context(), Offload{Topic: "orders"}); err == nil || asked != 4 {
		t.Errorf("an offload that failed: %v, asked %d times", err, asked)
	}
	ledgers = `{"ledgers":[{"ledgerId":3,"size":5}]}`
	if _, err := admin.OffloadTopic(t.Context(), Offload{Topic: "orders"}); !errors.Is(err, ErrConflict) {
		t.Errorf("nothing to offload: %v", err)
	}
	if _, err := admin.OffloadTopic(t.Context(), Offload{Topic: "orders", Keep: -1}); !errors.Is(err, ErrInvalid) {
		t.Errorf("keeping less than nothing: %v", err)
	}
}

// A topic whose owner died meanwhile has one that knows nothing of the offload: it is asked, too.
func TestOffloadIsAskedOfTheNextOwner(t *testing.T) {
	status, asked := "NOT_RUN", 0
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/internalStats"):
			w.Write([]byte(`{"ledgers":[{"ledgerId":1,"size":100},{"ledgerId":3,"size":5}]}`))
		case r.Method == http.MethodPut:
			if asked++; asked == 2 { // the first owner dies when it has been asked
				status = "SUCCESS"
			}
			w.WriteHeader(http.StatusNoContent)
		default:
			fmt.Fprintf(w, `{"status":%q,"lastError":""}`, status)
		}
	}))
	defer broker.Close()
	admin := New(func() Addresses { return Addresses{PulsarAdmin: []string{broker.URL}} })
	if done, err := admin.OffloadTopic(t.Context(), Offload{Topic: "orders"}); err != nil || done.Status != "SUCCESS" || asked != 2 {
		t.Errorf("%+v, %v, asked %d times", done, err, asked)
	}
}
