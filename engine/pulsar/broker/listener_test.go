package broker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/fabric/freeport"
	"twinlog/engine/pulsar/pulsarpb"
)

// Clients outside a container network get outside addresses from lookups, those inside get inside ones: by the port that they came
// in by, or by the listener that they name; and whichever broker owns the topic.
func TestLookupsAnswerWithTheListenersAddresses(t *testing.T) {
	c := newClassroom(t, 0)
	for id := 1; id <= 2; id++ {
		c.start(id, func(config *Config) {
			config.Endpoint.AdvertisedPulsar = "outside.example:665" + string(rune('0'+id))
			config.Endpoint.AdvertisedHTTP = "outside.example:808" + string(rune('0'+id))
			config.Internal = &Endpoint{
				ListenPulsar: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0",
				AdvertisedPulsar: "pulsar-" + string(rune('0'+id)) + ":6650", AdvertisedHTTP: "pulsar-" + string(rune('0'+id)) + ":8080",
			}
		})
	}
	b := c.brokers[1].Broker
	for _, topic := range []string{"a", "b", "c", "d", "e", "f"} {
		name, _ := ParseTopicName(topic)
		for _, authoritative := range []bool{false, true} { // the second one makes this broker the owner, if nobody is
			for listener, want := range map[string][2]string{"": {"pulsar://outside.example:665", "http://outside.example:808"}, InternalListener: {"pulsar://pulsar-", "http://pulsar-"}} {
				answer, err := b.Lookup(deadline(t), name, authoritative, listener, "tcp")
				if err != nil || !strings.HasPrefix(answer.PulsarURL, want[0]) || !strings.HasPrefix(answer.HTTPURL, want[1]) {
					t.Errorf("%s with listener %q: %+v, %v", topic, listener, answer, err)
				}
			}
		}
	}
	request := httptest.NewRequest(http.MethodGet, "/lookup/v2/topic/persistent/public/default/a?listenerName=internal", nil)
	if got := b.ListenerOf(request); got != InternalListener {
		t.Errorf("listener by query: %q", got)
	}
	request = httptest.NewRequest(http.MethodGet, "/", nil).WithContext(connectionContext(t.Context(), internalConnection{}))
	if got := b.ListenerOf(request); got != InternalListener {
		t.Errorf("listener by port: %q", got)
	}
	if got := b.ListenerOf(httptest.NewRequest(http.MethodGet, "/", nil)); got != "" {
		t.Errorf("listener of a request from outside: %q", got)
	}
}

// Whoever is sent to the broker that leads, because a bundle is to be unloaded, is sent to an address that can be reached from there.
func TestTheLeadersAddressIsTheListeners(t *testing.T) {
	c := newClassroom(t, 0)
	for _, id := range []int{1, 2} { // the first one leads
		c.start(id, func(config *Config) {
			config.Internal = &Endpoint{ListenPulsar: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0", AdvertisedPulsar: fmt.Sprintf("pulsar-%d:6650", id), AdvertisedHTTP: fmt.Sprintf("pulsar-%d:8080", id)}
		})
		if _, err := c.brokers[id].leadership.wait(deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	leading, other := c.brokers[1].Broker, c.brokers[2].Broker
	for listener, want := range map[string]string{"": leading.urls.http, InternalListener: "http://pulsar-1:8080"} {
		if got, err := other.PreferAny(unloadedBundle, listener); err != nil || got != want {
			t.Errorf("listener %q, to anywhere: %q, %v, want %q", listener, got, err, want)
		}
		if got, err := other.Prefer(t.Context(), unloadedBundle, other.id, listener); err != nil || got != want {
			t.Errorf("listener %q, to a broker: %q, %v, want %q", listener, got, err, want)
		}
	}
	if got, err := leading.PreferAny(unloadedBundle, InternalListener); err != nil || got != "" {
		t.Errorf("the leader sends to %q, %v", got, err)
	}
}

func TestNamedListenerOverTheBinaryProtocol(t *testing.T) {
	c := newClassroom(t, 0)
	inside := freeport.Address(t)
	c.start(1, func(config *Config) {
		config.Internal = &Endpoint{ListenPulsar: inside, ListenHTTP: "127.0.0.1:0", AdvertisedPulsar: "pulsar-1:6650", AdvertisedHTTP: "pulsar-1:8080"}
	})
	lookup := &pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_LOOKUP.Enum(), LookupTopic: &pulsarpb.CommandLookupTopic{
		Topic: proto.String("persistent://public/default/t"), RequestId: proto.Uint64(1),
	}}
	outside := c.dial(1)
	outside.connect()
	if answer := outside.request(lookup).GetLookupTopicResponse(); answer.GetBrokerServiceUrl() != c.brokers[1].urls.pulsar {
		t.Errorf("from outside: %v", answer)
	}
	within := c.dialAddress(inside)
	within.connect()
	if answer := within.request(lookup).GetLookupTopicResponse(); answer.GetBrokerServiceUrl() != "pulsar://pulsar-1:6650" {
		t.Errorf("from inside: %v", answer)
	}
	lookup.LookupTopic.AdvertisedListenerName = proto.String(InternalListener)
	if answer := outside.request(lookup).GetLookupTopicResponse(); answer.GetBrokerServiceUrl() != "pulsar://pulsar-1:6650" {
		t.Errorf("by name: %v", answer)
	}
}
