package administration

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWhatAFailingBrokerHasDoneIsDone: one broker does what is asked and its answer is an error; the next one refuses, for it is done.
func TestWhatAFailingBrokerHasDoneIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		bundles string // after the split was asked for
		split   error
	}{
		"the bundle is in halves": {`["0x00000000","0x20000000","0x40000000","0xffffffff"]`, nil},
		"there never was one":     {`["0x00000000","0x80000000","0xffffffff"]`, ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "lost its ensemble", 500) }))
			defer failing.Close()
			refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/bundles"):
					fmt.Fprintf(w, `{"boundaries": %s}`, c.bundles)
				case strings.Contains(r.URL.Path, "/subscription/"):
					http.Error(w, "it is there", http.StatusConflict)
				default:
					http.Error(w, "no such bundle", http.StatusNotFound)
				}
			}))
			defer refusing.Close()
			asking := func(brokers ...string) *Administrator {
				return New(func() Addresses { return Addresses{PulsarAdmin: brokers} })
			}
			wanted := PulsarBundle{Bundle: "0x00000000_0x40000000"}
			if err := asking(failing.URL, refusing.URL).SplitBundle(t.Context(), wanted); !errors.Is(err, c.split) || (err == nil) != (c.split == nil) {
				t.Errorf("split: %v", err)
			}
			if err := asking(refusing.URL).SplitBundle(t.Context(), wanted); !errors.Is(err, ErrNotFound) {
				t.Errorf("split of a bundle that is not there: %v", err)
			}
			if err := asking(failing.URL, refusing.URL).CreatePulsarSubscription(t.Context(), "orders", "keeper"); err != nil {
				t.Errorf("subscription: %v", err)
			}
			if err := asking(refusing.URL).CreatePulsarSubscription(t.Context(), "orders", "keeper"); !errors.Is(err, ErrConflict) {
				t.Errorf("a subscription that was there: %v", err)
			}
		})
	}
}
