package admin_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestABundleGoesWhereItIsSent unloads a bundle to each broker in turn, by asking either of them.
func TestABundleGoesWhereItIsSent(t *testing.T) {
	c := newCluster(t)
	c.expect("PUT", topics+"/sent", "", 204, "")
	_, found := c.doAt(0, "GET", "/lookup/v2/topic/persistent/public/default/sent/bundle", "")
	bundle := strings.Trim(strings.TrimSpace(found), `"`)
	unload := "/admin/v2/namespaces/public/default/" + bundle + "/unload?destinationBroker="
	c.expect("GET", topics+"/sent/stats", "", 200, "ownerBroker")
	for i, asked := range []int{0, 1, 1, 0} {
		destination, err := url.Parse(c.http[i%2])
		if err != nil {
			t.Fatal(err)
		}
		if status, body := c.doAt(asked, "PUT", unload+destination.Host, ""); status != 204 {
			t.Fatalf("broker %d: %d %s", asked, status, body)
		}
		_, stats := c.doAt(asked, "GET", topics+"/sent/stats", "")
		var owner struct {
			Owner string `json:"ownerBroker"`
		}
		if err := json.Unmarshal([]byte(stats), &owner); err != nil || owner.Owner != destination.Host {
			t.Errorf("sent to %s, it is at %s (%v)", destination.Host, owner.Owner, err)
		}
	}
	for _, nobody := range []string{"127.0.0.1:1", "..", "a/b"} {
		c.expect("PUT", fmt.Sprint(unload, url.QueryEscape(nobody)), "", 412, "is not available")
	}
}
