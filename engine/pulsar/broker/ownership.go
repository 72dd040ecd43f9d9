package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bundle"
	"twinlog/engine/trace"
)

// Bundle is a bundle of a namespace.
type Bundle struct {
	Namespace string // tenant/namespace
	Range     bundle.Range
}

// String is tenant/namespace/0x00000000_0x40000000.
func (b Bundle) String() string { return b.Namespace + "/" + b.Range.String() }

func (b Bundle) znode() string { return ownershipPath + "/" + b.String() }

// ParseBundle is the inverse of String.
func ParseBundle(text string) (Bundle, error) {
	at := strings.LastIndex(text, "/")
	if at < 0 {
		return Bundle{}, fmt.Errorf("%w: bundle %q", ErrBadName, text)
	}
	r, err := bundle.ParseRange(text[at+1:])
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{Namespace: text[:at], Range: r}, nil
}

// ownerData is the value of a bundle's ownership znode. Disabled: its owner is about to give it up.
type ownerData struct {
	NativeURL           string                  `json:"nativeUrl"`
	NativeURLTLS        string                  `json:"nativeUrlTls"`
	HTTPURL             string                  `json:"httpUrl"`
	HTTPURLTLS          string                  `json:"httpUrlTls"`
	Disabled            bool                    `json:"disabled"`
	AdvertisedListeners map[string]listenerURLs `json:"advertisedListeners"`
}

func (d ownerData) urls(listener string) urls {
	if named, there := d.AdvertisedListeners[listener]; there {
		return urls{pulsar: named.BrokerServiceURL, http: named.BrokerHTTPURL}
	}
	return urls{pulsar: d.NativeURL, http: d.HTTPURL}
}

// ownership is the bundles that this broker owns: a mirror of the znodes that its session holds. A topic is served only while its
// bundle is here.
type ownership struct {
	mu      sync.Mutex
	bundles map[Bundle]bundleState
	closed  bool // no more acquiring: the broker shuts down
}

type bundleState int

const (
	bundleNotOwned bundleState = iota
	bundleOwned
	bundleUnloading
)

func newOwnership() *ownership { return &ownership{bundles: map[Bundle]bundleState{}} }

func (o *ownership) state(of Bundle) bundleState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bundles[of]
}

func (o *ownership) list() []Bundle {
	o.mu.Lock()
	defer o.mu.Unlock()
	owned := make([]Bundle, 0, len(o.bundles))
	for b := range o.bundles {
		owned = append(owned, b)
	}
	slices.SortFunc(owned, func(a, b Bundle) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Range.Lower, b.Range.Lower))
	})
	return owned
}

// add notes a bundle; it reports whether it is new here.
func (o *ownership) add(b Bundle) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bundles[b] != bundleNotOwned {
		return false
	}
	o.bundles[b] = bundleOwned
	return true
}

// startUnloading reports whether the caller is the one to unload the bundle.
func (o *ownership) startUnloading(b Bundle) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bundles[b] != bundleOwned {
		return false
	}
	o.bundles[b] = bundleUnloading
	return true
}

func (o *ownership) drop(b Bundle) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, there := o.bundles[b]
	delete(o.bundles, b)
	return there
}

func (o *ownership) stopAcquiring() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

func (o *ownership) mayAcquire() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.closed
}

// OwnedBundles lists the bundles that this broker owns.
func (b *Broker) OwnedBundles() []Bundle { return b.ownership.list() }

// BundleOf is the bundle of a topic. ErrNotFound when its namespace does not exist.
func (b *Broker) BundleOf(name TopicName) (Bundle, error) {
	bundles, _, err := b.NamespaceBundles(name.NamespaceName())
	if errors.Is(err, ErrNotFound) {
		return Bundle{}, Refuse(ErrNotFound, "Namespace does not exist: %s", name.NamespaceName())
	}
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{Namespace: name.NamespaceName(), Range: bundles.Of(name.String())}, nil
}

// Owns tells whether this broker serves a bundle now.
func (b *Broker) Owns(wanted Bundle) bool { return b.ownership.state(wanted) == bundleOwned }

// owner reads who owns a bundle; found is false when nobody does. A znode that an earlier life of this broker left is removed.
func (b *Broker) owner(of Bundle) (data ownerData, found bool, err error) {
	raw, stat, err := b.zookeeper.Get(of.znode())
	if errors.Is(err, zk.ErrNoNode) {
		return ownerData{}, false, nil
	}
	if err != nil {
		return ownerData{}, false, fmt.Errorf("reading the owner of %v: %w", of, err)
	}
	if stat.EphemeralOwner == 0 {
		return ownerData{}, false, nil // a namespace's own node, never a bundle's
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		return ownerData{}, false, fmt.Errorf("reading the owner of %v: %w", of, err)
	}
	if data.NativeURL == b.urls.pulsar && stat.EphemeralOwner != b.zookeeper.SessionID() {
		if err := b.remove(of.znode()); err != nil {
			return ownerData{}, false, err
		}
		return ownerData{}, false, nil
	}
	return data, true, nil
}

func (b *Broker) ownData() ownerData {
	return ownerData{NativeURL: b.urls.pulsar, HTTPURL: b.urls.http, AdvertisedListeners: b.advertisedListeners()}
}

var errShuttingDown = errors.New("the broker shuts down")

// acquire tries to become the owner of a bundle, and returns who is. The znode decides: it is created by one broker only.
func (b *Broker) acquire(ctx context.Context, wanted Bundle) (ownerData, error) {
	for ctx.Err() == nil {
		if !b.ownership.mayAcquire() {
			return ownerData{}, errShuttingDown
		}
		if b.ownership.state(wanted) == bundleUnloading {
			return ownerData{}, fmt.Errorf("%w: %v", errUnloading, wanted)
		}
		data := b.ownData()
		value, err := marshal(data)
		if err != nil {
			return ownerData{}, err
		}
		err = b.create(wanted.znode(), value, zk.FlagEphemeral)
		if err == nil {
			b.noteOwned(wanted)
			return data, nil
		}
		if !errors.Is(err, ErrExists) {
			return ownerData{}, err
		}
		owner, found, err := b.owner(wanted)
		if err != nil {
			return ownerData{}, err
		}
		if !found {
			// Gone between the two calls, or not yet seen by our server.
			if err := b.catchUp(); err != nil {
				return ownerData{}, err
			}
			continue
		}
		if owner.NativeURL == b.urls.pulsar {
			// Ours, created a moment ago by another request.
			b.noteOwned(wanted)
		}
		return owner, nil
	}
	return ownerData{}, ctx.Err()
}

func (b *Broker) noteOwned(acquired Bundle) {
	if b.ownership.add(acquired) {
		b.tracer.Emit(trace.PulsarBundleOwned{Namespace: acquired.Namespace, Bundle: acquired.Range.String()})
		b.logger.Info("bundle acquired", "bundle", acquired.String(), "broker", b.id)
		b.reportSoon()
	}
}

// UnloadBundle gives a bundle up: its topics are closed, its clients told, its znode deleted. ErrNotFound when it is not owned here.
func (b *Broker) UnloadBundle(ctx context.Context, wanted Bundle) error {
	return b.unloadBundle(ctx, wanted, trace.ReasonUnload)
}

func (b *Broker) unloadBundle(ctx context.Context, wanted Bundle, reason trace.Reason) error {
	if !b.ownership.startUnloading(wanted) {
		return Refuse(ErrNotFound, "bundle %v is not owned by %s", wanted, b.id)
	}
	// From here on lookups answer "being unloaded" everywhere, so that no client comes back before the next owner can.
	data := b.ownData()
	data.Disabled = true
	disableErr := b.writeJSON(wanted.znode(), data, -1)
	b.topics.closeBundle(ctx, wanted, reason)
	removeErr := b.remove(wanted.znode())
	b.released(wanted, reason)
	return cmpError(disableErr, removeErr)
}

func (b *Broker) released(wanted Bundle, reason trace.Reason) {
	if b.ownership.drop(wanted) {
		b.tracer.Emit(trace.PulsarBundleReleased{Namespace: wanted.Namespace, Bundle: wanted.Range.String(), Reason: reason})
		b.reportSoon()
	}
}

// dropAllBundles lets go of everything after the session, and with it every ownership, is lost.
func (b *Broker) dropAllBundles(ctx context.Context, reason trace.Reason) {
	closing, cancel := context.WithTimeout(ctx, b.config.OperationTimeout)
	defer cancel()
	var wait sync.WaitGroup
	for _, lost := range b.ownership.list() {
		b.released(lost, reason)
		wait.Go(func() { b.topics.closeBundle(closing, lost, reason) })
	}
	wait.Wait()
}
