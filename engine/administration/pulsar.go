package administration

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"twinlog/engine/sentence"
)

// PulsarTopic is a topic to be created.
type PulsarTopic struct {
	// Name is a name in public/default ("orders"), or a full one ("persistent://tenant/namespace/orders").
	Name       string `json:"name"`
	Partitions int    `json:"partitions"` // 0: one without partitions; at most 100
}

// PulsarBundle says which bundle is to be unloaded or split.
type PulsarBundle struct {
	Namespace string `json:"namespace"` // public/default unless told
	Bundle    string `json:"bundle"`    // 0x00000000_0x40000000
	// Destination is the node that is to own an unloaded bundle next ("pulsar-2"); empty: the leader of the load balancing chooses.
	Destination string `json:"destination"`
	// Algorithm of a split: range_equally_divide (unless told), topic_count_equally_divide or specified_positions_divide.
	Algorithm string `json:"algorithm"`
	// Unload gives the halves of a split up at once, so that other brokers can take them.
	Unload bool `json:"unload"`
}

var (
	localName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,200}$`)
	fullName  = regexp.MustCompile(`^(persistent|non-persistent)://[a-zA-Z0-9._-]{1,100}/[a-zA-Z0-9._-]{1,100}/[^/?#%\s]{1,200}$`)
	namespace = regexp.MustCompile(`^[a-zA-Z0-9._=:-]{1,100}/[a-zA-Z0-9._=:-]{1,100}$`)
	bundle    = regexp.MustCompile(`^0x[0-9a-f]{8}_0x[0-9a-f]{8}$`)
)

// FullPulsarName is a topic's full name.
func FullPulsarName(name string) (string, error) {
	if localName.MatchString(name) {
		return "persistent://public/default/" + name, nil
	}
	if fullName.MatchString(name) {
		return name, nil
	}
	return "", sentence.Error(ErrInvalid, "notATopicName", `"{given}" is no name of a topic: it is one like orders, or persistent://public/default/orders`, name)
}

// CreatePulsarTopic creates a topic and returns it with its full name.
func (a *Administrator) CreatePulsarTopic(ctx context.Context, topic PulsarTopic) (PulsarTopic, error) {
	name, err := FullPulsarName(topic.Name)
	if err != nil {
		return topic, err
	}
	if topic.Partitions < 0 || topic.Partitions > mostPartitions {
		return topic, sentence.Error(ErrInvalid, "notSoManyPulsarPartitions", "a topic has up to {most} {most|partition|partitions}, not {given}; 0 makes one without partitions", mostPartitions, topic.Partitions)
	}
	topic.Name = name
	path, body := "/admin/v2/"+strings.Replace(name, "://", "/", 1), ""
	if topic.Partitions > 0 {
		path, body = path+"/partitions", strconv.Itoa(topic.Partitions)
	}
	return topic, a.pulsar(ctx, http.MethodPut, path, body, nil, sentence.Of("creatingTopic", `creating the topic "{topic}"`, name))
}

// DeletePulsarTopic deletes a topic, with its partitions if it has some, and takes it away from whoever is attached to it.
func (a *Administrator) DeletePulsarTopic(ctx context.Context, topic string) error {
	name, err := FullPulsarName(topic)
	if err != nil {
		return err
	}
	path := "/admin/v2/" + strings.Replace(name, "://", "/", 1)
	var partitions struct {
		Partitions int `json:"partitions"`
	}
	if err := a.pulsar(ctx, http.MethodGet, path+"/partitions", "", &partitions, sentence.Of("askingPartitions", "asking for the partitions of {topic}", name)); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if partitions.Partitions > 0 {
		path += "/partitions"
	}
	return a.pulsar(ctx, http.MethodDelete, path+"?force=true", "", nil, sentence.Of("deletingTopic", `deleting the topic "{topic}"`, name))
}

// CreatePulsarSubscription creates a subscription at the end of a topic. What is published from then on is kept for it.
func (a *Administrator) CreatePulsarSubscription(ctx context.Context, topic, subscription string) error {
	name, err := FullPulsarName(topic)
	if err != nil {
		return err
	}
	if !localName.MatchString(subscription) {
		return sentence.Error(ErrInvalid, "notASubscriptionName", `"{given}" is no name of a subscription`, subscription)
	}
	path := "/admin/v2/" + strings.Replace(name, "://", "/", 1) + "/subscription/" + subscription
	err = a.pulsar(ctx, http.MethodPut, path, "", nil, sentence.Of("creatingSubscription", "creating the subscription {subscription} of {topic}", subscription, name))
	if doneBefore(err, ErrConflict) {
		return nil // it is there: the broker that failed had made it
	}
	return err
}

func (b PulsarBundle) path() (string, PulsarBundle, error) {
	if b.Namespace == "" {
		b.Namespace = "public/default"
	}
	if !namespace.MatchString(b.Namespace) {
		return "", b, sentence.Error(ErrInvalid, "notANamespace", `"{given}" is no namespace: it is one like public/default`, b.Namespace)
	}
	if !bundle.MatchString(b.Bundle) {
		return "", b, sentence.Error(ErrInvalid, "notABundle", `"{given}" is no bundle: it is a range like 0x00000000_0x40000000`, b.Bundle)
	}
	return "/admin/v2/namespaces/" + b.Namespace + "/" + b.Bundle, b, nil
}

// UnloadBundle makes a bundle's owner give it up. Destination is the id (host:port of its HTTP service) of the broker that is to own it
// next; empty: any. Clients find the next owner by looking up.
func (a *Administrator) UnloadBundle(ctx context.Context, wanted PulsarBundle, destination string) error {
	path, wanted, err := wanted.path()
	if err != nil {
		return err
	}
	path += "/unload"
	if destination != "" {
		path += "?destinationBroker=" + url.QueryEscape(destination)
	}
	return a.pulsar(ctx, http.MethodPut, path, "", nil, sentence.Of("unloadingBundle", "unloading the bundle {bundle} of {namespace}", wanted.Bundle, wanted.Namespace))
}

// SplitBundle cuts a bundle in two.
func (a *Administrator) SplitBundle(ctx context.Context, wanted PulsarBundle) error {
	path, wanted, err := wanted.path()
	if err != nil {
		return err
	}
	query := url.Values{"unload": {strconv.FormatBool(wanted.Unload)}}
	if wanted.Algorithm != "" {
		query.Set("splitAlgorithmName", wanted.Algorithm)
	}
	doing := sentence.Of("splittingBundle", "splitting the bundle {bundle} of {namespace}", wanted.Bundle, wanted.Namespace)
	err = a.pulsar(ctx, http.MethodPut, path+"/split?"+query.Encode(), "", nil, doing)
	if doneBefore(err, ErrNotFound) && a.hasBeenSplit(ctx, wanted, doing) {
		return nil
	}
	return err
}

// hasBeenSplit tells whether a bundle's bounds are still bounds of bundles, but no longer of one.
func (a *Administrator) hasBeenSplit(ctx context.Context, wanted PulsarBundle, doing sentence.Sentence) bool {
	var bundles struct {
		Boundaries []string `json:"boundaries"`
	}
	if err := a.pulsar(ctx, http.MethodGet, "/admin/v2/namespaces/"+wanted.Namespace+"/bundles", "", &bundles, doing); err != nil {
		return false
	}
	low, high, _ := strings.Cut(wanted.Bundle, "_")
	from, to := slices.Index(bundles.Boundaries, low), slices.Index(bundles.Boundaries, high)
	return from >= 0 && to > from+1
}

// LedgerLimits say when a topic's ledger is full: it has so many entries, and is so old.
type LedgerLimits struct {
	Entries int64         // managedLedgerMaxEntriesPerLedger
	Age     time.Duration // managedLedgerMinLedgerRolloverTimeMinutes
}

// PulsarLedgerLimits asks the brokers when a ledger is full.
func (a *Administrator) PulsarLedgerLimits(ctx context.Context) (LedgerLimits, error) {
	doing := sentence.Of("askingConfiguration", "asking a Pulsar-mode broker for its configuration")
	var configuration map[string]string
	if err := a.pulsar(ctx, http.MethodGet, "/admin/v2/brokers/configuration/runtime", "", &configuration, doing); err != nil {
		return LedgerLimits{}, err
	}
	mostEntries, leastMinutes := configuration["managedLedgerMaxEntriesPerLedger"], configuration["managedLedgerMinLedgerRolloverTimeMinutes"]
	entries, err := strconv.ParseInt(mostEntries, 10, 64)
	minutes, minutesErr := strconv.ParseFloat(leastMinutes, 64)
	if err != nil || minutesErr != nil || entries < 1 || minutes < 0 {
		return LedgerLimits{}, sentence.Error(nil, "noLedgerLimits",
			`{doing}: it does not say when a ledger is full: after "{entries}" entries, not before "{minutes}" minutes`, doing, mostEntries, leastMinutes)
	}
	return LedgerLimits{Entries: entries, Age: time.Duration(minutes * float64(time.Minute))}, nil
}

const (
	pulsarPatience = 15 * time.Second       // bounds one request to one broker
	pulsarRounds   = 4                      // how often all brokers are asked as long as one answers that it cannot just now
	pulsarPause    = 500 * time.Millisecond // between two rounds
)

// secondRefusal is the refusal of a broker that was asked because another one had failed, which may have done what was asked for before.
type secondRefusal struct{ error }

func (s secondRefusal) Unwrap() error { return s.error }

// doneBefore tells whether an error is what a broker answers to something that another one has done, whose own answer was lost.
func doneBefore(err, answer error) bool {
	return errors.As(err, new(secondRefusal)) && errors.Is(err, answer)
}

// pulsar sends a request to the first broker that answers, which sends it on to whom it concerns.
func (a *Administrator) pulsar(ctx context.Context, method, path, body string, result any, doing sentence.Sentence) error {
	brokers := a.addresses().PulsarAdmin
	if len(brokers) == 0 {
		return sentence.Error(ErrConflict, "noPulsar", "{doing}: this classroom has no Pulsar-mode brokers", doing)
	}
	client := http.Client{Timeout: pulsarPatience, Transport: &http.Transport{DisableKeepAlives: true}}
	var last error
	answered := false // by a broker that may know better a little later: it has lost its ensemble, or the topic is on its way
	for at := range pulsarRounds * len(brokers) {
		if at > 0 && at%len(brokers) == 0 && (!answered || pause(ctx, pulsarPause) != nil) {
			break
		}
		broker := brokers[at%len(brokers)]
		request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(broker, "/")+path, strings.NewReader(body))
		if err != nil {
			return sentence.Error(ErrInvalid, "couldNot", "{doing}: {why}", doing, err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			last = err
			if ctx.Err() != nil {
				break
			}
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		response.Body.Close()
		if response.StatusCode < 300 {
			if result != nil {
				return json.Unmarshal(text, result)
			}
			return nil
		}
		if response.StatusCode >= 500 { // another broker may know better
			last, answered = sentence.Error(nil, "pulsarAnswered", "{broker} answered {status}: {why}", broker, response.Status, reasonOf(text)), true
			continue
		}
		refusal := pulsarError(response.StatusCode, reasonOf(text), doing)
		if last != nil {
			return secondRefusal{refusal}
		}
		return refusal
	}
	return sentence.Error(nil, "noPulsarAnswer", "{doing}: no Pulsar-mode broker could do it; are they running? {why}", doing, last)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pulsarError is a refusal of a broker's, with its own words.
func pulsarError(status int, said string, doing sentence.Sentence) error {
	kind, why := ErrConflict, sentence.Of("pulsarConflict", "that does not go with what there is")
	switch status {
	case http.StatusNotFound:
		kind, why = ErrNotFound, sentence.Of("pulsarNotFound", "there is no such thing")
	case http.StatusBadRequest:
		kind, why = ErrInvalid, sentence.Of("pulsarInvalid", "the broker does not understand it so")
	}
	return sentence.Error(kind, "pulsarRefused", "{doing}: {why} (HTTP {status}: {message})", doing, why, strconv.Itoa(status), said)
}

// reasonOf is the reason in a refusal of Pulsar's.
func reasonOf(text []byte) string {
	var refused struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(text, &refused) == nil && refused.Reason != "" {
		return refused.Reason
	}
	return strings.TrimSpace(string(text))
}
