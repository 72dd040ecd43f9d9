package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestTenantsAndNamespaces(t *testing.T) {
	c := newCluster(t)
	c.expect("GET", "/admin/v2/clusters", "", 200, `["standalone"]`)
	c.expect("GET", "/admin/v2/clusters/nowhere", "", 404, "Cluster does not exist")
	c.expect("GET", "/admin/v2/brokers", "", 200, strings.TrimPrefix(c.http[1], "http://"))
	c.expect("GET", "/admin/v2/brokers/standalone", "", 200, strings.TrimPrefix(c.http[0], "http://"))
	c.expect("GET", "/admin/v2/brokers/leaderBroker", "", 200, `"brokerId":"127.0.0.1:`)
	c.expect("GET", "/admin/v2/brokers/configuration/runtime", "", 200, `"managedLedgerMinLedgerRolloverTimeMinutes":"10"`)
	c.expect("GET", "/admin/v2/brokers/health", "", 200, "ok")
	c.expect("GET", "/admin/v2/tenants", "", 200, `["public","pulsar"]`)
	c.expect("PUT", "/admin/v2/tenants/acme", `{"adminRoles":[],"allowedClusters":["mars"]}`, 412, "Clusters do not exist")
	c.expect("PUT", "/admin/v2/tenants/acme", `{"adminRoles":[],"allowedClusters":["standalone"]}`, 204, "")
	c.expect("PUT", "/admin/v2/tenants/acme", `{"adminRoles":[],"allowedClusters":["standalone"]}`, 409, "already exist")
	c.expect("GET", "/admin/v2/tenants/acme", "", 200, `"allowedClusters":["standalone"]`)
	c.expect("PUT", "/admin/v2/namespaces/nobody/ns", "", 404, "Tenant does not exist")
	c.expect("PUT", "/admin/v2/namespaces/acme/ns", `{"boundaries":[],"numBundles":2}`, 204, "")
	c.expect("GET", "/admin/v2/namespaces/acme/ns/bundles", "", 200, `"boundaries":["0x00000000","0x80000000","0xffffffff"]`)
	c.expect("PUT", "/admin/v2/namespaces/acme/ns", "", 409, "already exists")
	c.expect("GET", "/admin/v2/namespaces/acme", "", 200, `["acme/ns"]`)
	c.expect("GET", "/admin/v2/namespaces/acme/nope", "", 404, "Namespace does not exist")
	c.expect("DELETE", "/admin/v2/tenants/acme", "", 409, "still has active namespaces")
	c.expect("PUT", "/admin/v2/persistent/acme/ns/t", "", 204, "")
	c.expect("DELETE", "/admin/v2/namespaces/acme/ns", "", 409, "non empty")
	c.expect("DELETE", "/admin/v2/namespaces/acme/ns?force=true", "", 204, "")
	c.expect("DELETE", "/admin/v2/tenants/acme", "", 204, "")
	c.expect("GET", "/admin/v2/tenants/acme", "", 404, "Tenant does not exist")
	c.expect("GET", "/admin/v2/no/such/thing", "", 404, "no such resource")
}

func TestPolicies(t *testing.T) {
	c := newCluster(t)
	const ns = "/admin/v2/namespaces/public/default"
	c.expect("GET", ns+"/retention", "", 204, "")
	c.expect("POST", ns+"/retention", `{"retentionTimeInMinutes":10,"retentionSizeInMB":0}`, 412, "retention")
	c.expect("POST", ns+"/retention", `{"retentionTimeInMinutes":10,"retentionSizeInMB":5}`, 204, "")
	c.expect("GET", ns+"/retention", "", 200, `"retentionSizeInMB":5`)
	c.expect("DELETE", ns+"/retention", "", 204, "")
	c.expect("GET", ns+"/retention", "", 204, "")
	c.expect("POST", ns+"/messageTTL", `-1`, 412, "")
	c.expect("POST", ns+"/messageTTL", `60`, 204, "")
	c.expect("GET", ns+"/messageTTL", "", 200, "60")
	c.expect("POST", ns+"/persistence", `{"bookkeeperEnsemble":1,"bookkeeperWriteQuorum":2,"bookkeeperAckQuorum":1,"managedLedgerMaxMarkDeleteRate":0}`, 412, "")
	c.expect("POST", ns+"/persistence", `{"bookkeeperEnsemble":2,"bookkeeperWriteQuorum":2,"bookkeeperAckQuorum":1,"managedLedgerMaxMarkDeleteRate":0}`, 204, "")
	c.expect("POST", ns+"/backlogQuota", `{"limit":"10240","policy":"producer_exception"}`, 204, "")
	c.expect("GET", ns+"/backlogQuotaMap", "", 200, `"destination_storage":{"limitSize":10240`)
	c.expect("POST", ns+"/backlogQuota", `{"limit":"ten","policy":"producer_exception"}`, 400, "")
	c.expect("POST", ns+"/backlogQuota", `{"limit":10,"policy":"shrug"}`, 400, "")
	c.expect("DELETE", ns+"/backlogQuota", "", 204, "")
	c.expect("POST", ns+"/autoTopicCreation", `{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":0}`, 412, "[defaultNumPartitions]")
	c.expect("POST", ns+"/autoTopicCreation", `{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":3}`, 204, "")
	c.expect("GET", topics+"/fresh/partitions?checkAllowAutoCreation=true", "", 200, `"partitions":3`)
	c.expect("POST", ns+"/retention", `{`, 400, "")
}

// Whichever broker is asked, the owner answers; a redirect is a 307.
func TestRedirectToTheOwner(t *testing.T) {
	c := newCluster(t)
	redirects := 0
	plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i := range 16 {
		topic := fmt.Sprintf("%s/r%d", topics, i)
		c.expect("PUT", topic, "", 204, "")
		_, at0 := c.doAt(0, "GET", topic+"/stats", "")
		_, at1 := c.doAt(1, "GET", topic+"/stats", "")
		var owner0, owner1 struct {
			Owner string `json:"ownerBroker"`
		}
		json.Unmarshal([]byte(at0), &owner0)
		json.Unmarshal([]byte(at1), &owner1)
		if owner0.Owner == "" || owner0 != owner1 {
			t.Errorf("topic %d: owner %q and %q", i, owner0.Owner, owner1.Owner)
		}
		response, err := plain.Get(c.http[0] + topic + "/stats")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode == http.StatusTemporaryRedirect {
			redirects++
			location, err := url.Parse(response.Header.Get("Location"))
			if err != nil || location.Host != owner0.Owner || location.Query().Get("authoritative") == "" {
				t.Errorf("redirect to %v", location)
			}
		}
		_, lookup := c.doAt(1, "GET", fmt.Sprintf("/lookup/v2/topic/persistent/public/default/r%d", i), "")
		if !strings.Contains(lookup, `"httpUrl":"http://`+owner0.Owner) {
			t.Errorf("lookup: %s", lookup)
		}
	}
	if redirects == 0 || redirects == 16 {
		t.Errorf("%d of 16 topics are elsewhere", redirects)
	}
	c.expect("GET", "/lookup/v2/topic/persistent/public/default/r0/bundle", "", 200, "0x")
	c.expect("GET", "/lookup/v2/topic/persistent/no/where/r0", "", 404, "Namespace does not exist")
}

func TestBundlesSplitAndUnload(t *testing.T) {
	c := newCluster(t)
	for i := range 12 {
		c.expect("PUT", fmt.Sprintf("%s/b%d", topics, i), "", 204, "")
	}
	const ns = "/admin/v2/namespaces/public/default"
	c.expect("PUT", ns+"/0x00000000_0x20000000/unload", "", 404, "no such bundle")
	c.expect("PUT", ns+"/nonsense/unload", "", 400, "not a bundle range")
	c.expect("PUT", ns+"/0x00000000_0x40000000/unload", "", 204, "")
	c.expect("GET", topics+"/b0/stats", "", 200, "ownerBroker")
	// Own the bundle again before it is split.
	for i := range 12 {
		c.expect("GET", fmt.Sprintf("%s/b%d/stats", topics, i), "", 200, "ownerBroker")
	}
	c.expect("PUT", ns+"/0x00000000_0x40000000/split?unload=true", "", 204, "")
	c.expect("GET", ns+"/bundles", "", 200, `"0x00000000","0x20000000","0x40000000"`)
	c.expect("PUT", ns+"/0x40000000_0x80000000/split?splitAlgorithmName=coin_toss", "", 400, "unknown split algorithm")
	for i := range 12 {
		c.expect("GET", fmt.Sprintf("%s/b%d/stats", topics, i), "", 200, "ownerBroker")
	}
	c.expect("PUT", ns+"/unload", "", 204, "")
}

func TestSchemas(t *testing.T) {
	c := newCluster(t)
	const schema = "/admin/v2/schemas/public/default/s/schema"
	c.expect("GET", schema, "", 404, "Schema not found")
	c.expect("POST", schema, `{"type":"JSON","schema":"{}","properties":{}}`, 200, `"version":0`)
	c.expect("POST", schema, `{"type":"JSON","schema":"{}","properties":{}}`, 200, `"version":0`)
	c.expect("POST", schema, `{"type":"STRING","schema":"","properties":{}}`, 409, "incompatible")
	c.expect("POST", schema, `{"type":"ODD","schema":"","properties":{}}`, 422, "unknown schema type")
	c.expect("GET", schema, "", 200, `"type":"JSON"`)
	c.expect("GET", schema+"/7", "", 404, "Schema not found")
	c.expect("DELETE", schema, "", 200, `"version":1`)
	c.expect("GET", schema, "", 404, "Schema not found")
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	c := newCluster(t)
	own := strings.TrimPrefix(c.http[0], "http://")
	for origin, want := range map[string]int{
		"": http.StatusOK, "http://" + own: http.StatusOK,
		"http://evil.example": http.StatusForbidden, "null": http.StatusForbidden, "http://" + own + ".evil.example": http.StatusForbidden,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.http[0]+"/admin/v2/clusters", nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("Origin %q: %s, want %d", origin, response.Status, want)
		}
	}
}
