package broker

import (
	"context"
	"errors"
	"fmt"

	"twinlog/engine/pulsar/bundle"
	"twinlog/engine/trace"
)

// Lookup results, as the trace names them.
const (
	LookupConnect  = "connect"
	LookupRedirect = "redirect"
)

// LookupAnswer tells a client where to go.
type LookupAnswer struct {
	Result        string // connect: the broker at the addresses serves the topic; redirect: ask that broker
	PulsarURL     string
	HTTPURL       string
	Authoritative bool
	Bundle        Bundle
}

var errUnloading = errors.New("the namespace bundle is being unloaded")

// Lookup finds the owner of a topic's bundle, and finds it one when it has none:
//
//	somebody owns it                                  → connect to the owner
//	nobody, asked with authoritative                  → this broker was chosen by the leader: it takes the bundle
//	nobody, this broker does not lead                 → redirect to the leader
//	nobody, this broker leads and chooses itself      → it takes the bundle
//	nobody, this broker leads and chooses another one → redirect there, authoritative
//
// Transport (tcp, http) is for the trace; it is empty when no client asked, but the admin interface for itself.
func (b *Broker) Lookup(ctx context.Context, name TopicName, authoritative bool, listener, transport string) (LookupAnswer, error) {
	answer, err := b.lookup(ctx, name, authoritative, listener)
	if transport == "" {
		return answer, err
	}
	event := trace.PulsarLookupAnswered{
		Topic: name.String(), Namespace: name.NamespaceName(), Hash: bundle.Hash(name.String()), Result: answer.Result, URL: answer.PulsarURL,
		Authoritative: answer.Authoritative, Asked: authoritative, Transport: transport,
	}
	if asked, unknown := b.BundleOf(name); unknown == nil {
		event.Bundle = asked.Range.String()
	}
	if err != nil {
		event.Result = "failed"
	}
	b.tracer.Emit(event)
	return answer, err
}

func (b *Broker) lookup(ctx context.Context, name TopicName, authoritative bool, listener string) (LookupAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, b.config.OperationTimeout)
	defer cancel()
	wanted, err := b.BundleOf(name)
	if err != nil {
		return LookupAnswer{}, err
	}
	owner, found, err := b.owner(wanted)
	if err != nil {
		return LookupAnswer{}, err
	}
	if found && owner.NativeURL == b.urls.pulsar && b.ownership.state(wanted) == bundleNotOwned {
		found = false // the znode was created by a request that has not noted it yet: acquire settles it
		authoritative = true
	}
	if found {
		return b.connectTo(owner, wanted, listener)
	}
	if authoritative {
		return b.acquireAndConnect(ctx, wanted, listener)
	}
	leader, err := b.leadership.wait(ctx)
	if err != nil {
		return LookupAnswer{}, err
	}
	if leader.BrokerID != b.id {
		return b.redirectTo(leader.BrokerID, wanted, listener, false)
	}
	chosen, _, err := b.place(wanted)
	if err != nil {
		return LookupAnswer{}, err
	}
	if chosen == b.id {
		return b.acquireAndConnect(ctx, wanted, listener)
	}
	return b.redirectTo(chosen, wanted, listener, true)
}

func (b *Broker) acquireAndConnect(ctx context.Context, wanted Bundle, listener string) (LookupAnswer, error) {
	owner, err := b.acquire(ctx, wanted)
	if err != nil {
		return LookupAnswer{}, err
	}
	// The bundles were read before the znode was created, perhaps from a ZooKeeper server that was behind. Only an owner splits a
	// bundle: what is read now, after the creation, stands.
	bundles, _, err := b.NamespaceBundles(wanted.Namespace)
	if err != nil {
		return LookupAnswer{}, err
	}
	if !bundles.Has(wanted.Range) {
		err := fmt.Errorf("%w: %v was split or deleted", errUnloading, wanted)
		return LookupAnswer{}, errors.Join(err, b.unloadBundle(ctx, wanted, trace.ReasonSplit))
	}
	return b.connectTo(owner, wanted, listener)
}

func (b *Broker) connectTo(owner ownerData, wanted Bundle, listener string) (LookupAnswer, error) {
	if owner.Disabled {
		return LookupAnswer{}, fmt.Errorf("%w: %v", errUnloading, wanted)
	}
	at := owner.urls(listener)
	return LookupAnswer{Result: LookupConnect, PulsarURL: at.pulsar, HTTPURL: at.http, Authoritative: true, Bundle: wanted}, nil
}

func (b *Broker) redirectTo(broker string, wanted Bundle, listener string, authoritative bool) (LookupAnswer, error) {
	data, err := b.BrokerData(broker)
	if err != nil {
		return LookupAnswer{}, fmt.Errorf("redirecting to broker %s: %w", broker, err)
	}
	at := data.urls(listener)
	return LookupAnswer{Result: LookupRedirect, PulsarURL: at.pulsar, HTTPURL: at.http, Authoritative: authoritative, Bundle: wanted}, nil
}
