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

// TestABundleThatIsUnloadedToAnywhereIsPromisedToNobody: the leader had promised the bundle to a broker that does not lead. When that one
// is told to give it up, it is not for the leader to send clients back there because of the promise.
func TestABundleThatIsUnloadedToAnywhereIsPromisedToNobody(t *testing.T) {
	c := newCluster(t)
	leader := c.leader()
	busy := 1 - leader
	host := func(at int) string { return strings.TrimPrefix(c.http[at], "http://") }
	// The other broker has so much that one bundle more does not fit there best.
	for _, bundle := range []string{"0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xc0000000", "0xc0000000_0xffffffff"} {
		c.expect("PUT", "/admin/v2/namespaces/public/default/"+bundle+"/unload?destinationBroker="+host(busy), "", 204, "")
	}
	for i := range 40 { // topics of all bundles
		c.expect("PUT", fmt.Sprintf("%s/filling-%d", topics, i), "", 204, "")
		c.expect("GET", fmt.Sprintf("%s/filling-%d/stats", topics, i), "", 200, host(busy))
	}
	c.until("the busy broker reports its bundles to the leader", func() bool {
		_, report := c.doAt(busy, "GET", "/admin/v2/broker-stats/load-report", "")
		return strings.Count(report, "public/default/0x") >= 4
	})
	const namespace, topic = "/admin/v2/namespaces/public/moving", "/admin/v2/persistent/public/moving/one"
	c.expect("PUT", namespace, "", 204, "")
	c.expect("PUT", topic, "", 204, "")
	_, found := c.doAt(0, "GET", "/lookup/v2/topic/persistent/public/moving/one/bundle", "")
	unload := namespace + "/" + strings.Trim(strings.TrimSpace(found), `"`) + "/unload"
	for _, path := range []string{unload, namespace + "/unload"} {
		c.expect("PUT", unload+"?destinationBroker="+host(busy), "", 204, "")
		c.expect("GET", topic+"/stats", "", 200, `"ownerBroker":"`+host(busy))
		if status, body := c.doAt(busy, "PUT", path, ""); status != 204 {
			t.Fatal(status, body)
		}
		if _, stats := c.doAt(leader, "GET", topic+"/stats", ""); !strings.Contains(stats, `"ownerBroker":"`+host(leader)) {
			t.Errorf("after %s at the busy broker, which does not lead, the bundle is there again", path)
		}
	}
}

// leader is the broker that leads.
func (c *cluster) leader() int {
	c.t.Helper()
	_, text := c.doAt(0, "GET", "/admin/v2/brokers/leaderBroker", "")
	for at, address := range c.http {
		if strings.Contains(text, address) {
			return at
		}
	}
	c.t.Fatalf("nobody leads: %s", text)
	return 0
}
