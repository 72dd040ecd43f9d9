package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/sirupsen/logrus"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/pulsar/admin"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/broker"
)

// cluster is two brokers over three bookies and one ZooKeeper server.
type cluster struct {
	t      *testing.T
	http   [2]string
	pulsar [2]string
}

func newCluster(t *testing.T) *cluster { t.Helper(); return newClusterOf(t, func(*broker.Config) {}) }

func newClusterOf(t *testing.T, adjust func(*broker.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t}
	f := fabric.NewTCP()
	zookeeper := freeport.Address(t)
	s, err := server.New(server.Config{ID: 1, ClientAddress: zookeeper, Network: f.Of("ensemble-1"), Disk: disk.NewMemory(), TickTime: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.Run, s.Ready())
	for i := range 3 {
		address := freeport.Address(t)
		b, err := bookie.New(bookie.Config{Address: address, Listen: address, ZooKeeper: []string{zookeeper}, Network: f.Of(fmt.Sprintf("bookie-%d", i+1)), Disk: disk.NewMemory()})
		if err != nil {
			t.Fatal(err)
		}
		run(t, b.Run, b.Ready())
	}
	for i := range 2 {
		endpoint := broker.Endpoint{ListenPulsar: freeport.Address(t), ListenHTTP: freeport.Address(t)}
		c.http[i], c.pulsar[i] = "http://"+endpoint.ListenHTTP, "pulsar://"+endpoint.ListenPulsar
		config := broker.Config{
			BrokerID: i + 1, Endpoint: endpoint, ZooKeeper: []string{zookeeper}, Network: f.Of(fmt.Sprintf("pulsar-%d", i+1)), Admin: admin.Handler,
		}
		adjust(&config)
		b, err := broker.New(config)
		if err != nil {
			t.Fatal(err)
		}
		run(t, b.Run, b.Ready())
	}
	return c
}

func run(t *testing.T, run func(context.Context) error, ready <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("ended before it was ready: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("not ready in time")
	}
}

// do sends one request to one broker and follows redirects, as clients do.
func (c *cluster) do(method, path, body string) (int, string) {
	c.t.Helper()
	return c.doAt(0, method, path, body)
}

func (c *cluster) doAt(at int, method, path, body string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequest(method, c.http[at]+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// expect checks status and, when want is not empty, that the answer holds it.
func (c *cluster) expect(method, path, body string, status int, want string) string {
	c.t.Helper()
	got, answer := c.do(method, path, body)
	if got != status || !strings.Contains(answer, want) {
		c.t.Errorf("%s %s %s: %d %s; want %d with %q", method, path, body, got, answer, status, want)
	}
	if got == http.StatusNoContent && answer != "" {
		c.t.Errorf("%s %s: 204 with a body %q", method, path, answer)
	}
	if got >= 400 {
		var refusal map[string]string
		if err := json.Unmarshal([]byte(answer), &refusal); err != nil || refusal["reason"] == "" {
			c.t.Errorf("%s %s: the refusal %q gives no reason", method, path, answer)
		}
	}
	return answer
}

func (c *cluster) client() pulsar.Client {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: c.pulsar[0], OperationTimeout: 20 * time.Second, Logger: log.NewLoggerWithLogrus(quiet)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

const topics = "/admin/v2/persistent/public/default"

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

func TestTopics(t *testing.T) {
	c := newCluster(t)
	c.expect("PUT", topics+"/plain", "null", 204, "")
	c.expect("PUT", topics+"/plain", "null", 409, "already exists")
	c.expect("PUT", topics+"/plain/partitions", "3", 409, "already exists")
	c.expect("PUT", topics+"/many/partitions", "0", 400, "Number of partitions")
	c.expect("PUT", topics+"/many/partitions", "3", 204, "")
	c.expect("PUT", topics+"/many/partitions", "3", 409, "already exists")
	c.expect("GET", topics+"/many/partitions", "", 200, `"partitions":3`)
	c.expect("GET", topics+"/plain/partitions", "", 200, `"partitions":0`)
	c.expect("POST", topics+"/many/partitions", "2", 412, "more than")
	c.expect("POST", topics+"/many/partitions", "5", 204, "")
	c.expect("PUT", topics+"/a%2Fb%20c", "", 204, "")
	c.expect("GET", topics, "", 200, `"persistent://public/default/a/b c"`)
	c.expect("GET", topics, "", 200, `"persistent://public/default/many-partition-4"`)
	c.expect("GET", topics+"/partitioned", "", 200, `["persistent://public/default/many"]`)
	c.expect("GET", "/admin/v2/namespaces/public/default/topics?mode=ALL", "", 200, "plain")
	c.expect("GET", "/admin/v2/namespaces/public/nowhere/topics", "", 404, "Namespace does not exist")
	c.expect("GET", topics+"/nope/stats", "", 404, "Topic not found")
	c.expect("GET", topics+"/many/partitioned-stats?perPartition=true", "", 200, `"persistent://public/default/many-partition-4":{`)
	c.expect("DELETE", topics+"/many", "", 412, "partitioned topic")
	c.expect("DELETE", topics+"/many/partitions", "", 204, "")
	c.expect("GET", topics+"/many/partitions", "", 200, `"partitions":0`)
	c.expect("DELETE", topics+"/plain", "", 204, "")
	c.expect("DELETE", topics+"/plain", "", 404, "Topic not found")
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

// A partitioned topic that is deleted under its producers stays deleted.
func TestDeletedPartitionsStayDeleted(t *testing.T) {
	c := newCluster(t)
	c.expect("PUT", topics+"/gone/partitions", "4", 204, "")
	client := c.client()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: "gone", SendTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for range 8 {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte("m")}); err != nil {
			t.Fatal(err)
		}
	}
	c.expect("DELETE", topics+"/gone/partitions", "", 412, "active producers")
	c.expect("DELETE", topics+"/gone/partitions?force=true", "", 204, "")
	c.expect("GET", topics+"/gone/partitions", "", 200, `"partitions":0`)
	if _, answer := c.do("GET", topics, ""); strings.Contains(answer, "gone") {
		t.Errorf("partitions came back: %s", answer)
	}
	c.expect("PUT", topics+"/gone/partitions", "2", 204, "")
}

func TestSubscriptions(t *testing.T) {
	c := newCluster(t)
	client := c.client()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: "subs", DisableBatching: true})
	if err != nil {
		t.Fatal(err)
	}
	c.expect("PUT", topics+"/subs/subscription/audit", "", 204, "")
	c.expect("PUT", topics+"/subs/subscription/audit", "", 409, "already exists")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for i := range 10 {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "m%d", i), Properties: map[string]string{"n": fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	backlog := func(want int) {
		t.Helper()
		c.expect("GET", topics+"/subs/stats", "", 200, fmt.Sprintf(`"msgBacklog":%d,`, want))
	}
	c.expect("GET", topics+"/subs/subscriptions", "", 200, `["audit"]`)
	backlog(10)
	c.expect("GET", topics+"/subs/subscription/audit/position/2", "", 200, "m1")
	c.expect("GET", topics+"/subs/subscription/audit/position/99", "", 404, "Message not found")
	c.expect("POST", topics+"/subs/subscription/audit/skip/3", "", 204, "")
	backlog(7)
	c.expect("POST", topics+"/subs/subscription/audit/skip_all", "", 204, "")
	backlog(0)
	c.expect("POST", topics+"/subs/subscription/audit/resetcursor/0", "", 204, "")
	backlog(10)
	last := c.expect("GET", topics+"/subs/lastMessageId", "", 200, `"entryId":9`)
	c.expect("POST", topics+"/subs/subscription/audit/resetcursor", last, 204, "")
	backlog(1)
	c.expect("POST", topics+"/subs/subscription/nobody/skip_all", "", 404, "not found")
	c.expect("DELETE", topics+"/subs", "", 412, "active producers/subscriptions")
	c.expect("DELETE", topics+"/subs/subscription/audit", "", 204, "")
	c.expect("DELETE", topics+"/subs/subscription/audit", "", 404, "not found")
	c.expect("POST", topics+"/subs/terminate", "", 200, `"entryId":9`)
	if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte("late")}); err == nil {
		t.Error("a terminated topic took a message")
	}
	c.expect("GET", topics+"/subs/internalStats", "", 200, `"state":"Terminated"`)
	c.expect("DELETE", topics+"/subs?force=true", "", 204, "")
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
