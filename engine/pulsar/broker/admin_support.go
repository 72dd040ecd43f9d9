package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bundle"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// What the admin interface needs besides the operations on topics.

// HTTPStatus is the status of an error in the admin interface.
func HTTPStatus(err error) int {
	for _, known := range []struct {
		err    error
		status int
	}{
		{errTopicNotFound, http.StatusNotFound},
		{ErrNotFound, http.StatusNotFound},
		{managedledger.ErrNotFound, http.StatusNotFound},
		{ErrExists, http.StatusConflict},
		{ErrConflict, http.StatusConflict},
		{ErrInUse, http.StatusPreconditionFailed},
		{ErrPreconditionFailed, http.StatusPreconditionFailed},
		{errPartitionRefused, http.StatusPreconditionFailed},
		{ErrBadName, http.StatusPreconditionFailed},
		{ErrBadRequest, http.StatusBadRequest},
		{bundle.ErrBadRange, http.StatusBadRequest},
		{bundle.ErrCannotSplit, http.StatusPreconditionFailed},
		{bundle.ErrUnknownBundle, http.StatusNotFound},
		{managedledger.ErrTerminated, http.StatusMethodNotAllowed},
		{managedledger.ErrInvalidPosition, http.StatusPreconditionFailed},
		{managedledger.ErrNoMedium, http.StatusMethodNotAllowed},
		{managedledger.ErrOffloading, http.StatusConflict},
		{ErrNotAllowed, http.StatusMethodNotAllowed},
		{errSchema, http.StatusConflict},
		{errNotServed, http.StatusServiceUnavailable},
		{errTopicClosing, http.StatusServiceUnavailable},
		{errUnloading, http.StatusServiceUnavailable},
		{errNoBroker, http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusGatewayTimeout},
	} {
		if errors.Is(err, known.err) {
			return known.status
		}
	}
	return http.StatusInternalServerError
}

// HTTPClient calls other brokers. It follows their redirects to a topic's owner.
func (b *Broker) HTTPClient() *http.Client {
	return &http.Client{
		Timeout: b.config.OperationTimeout,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return b.config.Network.Dial(ctx, address)
			},
			DisableKeepAlives: true,
		},
	}
}

// ListenerOf is the advertised listener of the port that a request came in by; "" for the primary one.
func (b *Broker) ListenerOf(request *http.Request) string {
	if name := request.URL.Query().Get("listenerName"); name != "" {
		return name
	}
	if name := request.Header.Get("X-Pulsar-ListenerName"); name != "" {
		return name
	}
	if internal, _ := request.Context().Value(internalKey{}).(bool); internal {
		return InternalListener
	}
	return ""
}

// PeerListener is the advertised listener under which brokers reach each other.
func (b *Broker) PeerListener() string {
	if b.internal != nil {
		return InternalListener
	}
	return ""
}

type internalKey struct{}

func connectionContext(ctx context.Context, conn net.Conn) context.Context {
	if _, internal := conn.(internalConnection); internal {
		return context.WithValue(ctx, internalKey{}, true)
	}
	return ctx
}

// HTTPURL is this broker's own HTTP address.
func (b *Broker) HTTPURL(listener string) string {
	if listener == InternalListener && b.internal != nil {
		return b.internal.http
	}
	return b.urls.http
}

// BundleOwner tells who owns a bundle: its HTTP address, "" when nobody does.
func (b *Broker) BundleOwner(of Bundle, listener string) (string, error) {
	owner, found, err := b.owner(of)
	if err != nil || !found {
		return "", err
	}
	return owner.urls(listener).http, nil
}

// Tenants lists the tenants, sorted.
func (b *Broker) Tenants() ([]string, error) {
	names, err := b.children(policiesPath)
	slices.Sort(names)
	return names, err
}

// Tenant reads a tenant.
func (b *Broker) Tenant(name string) (Tenant, error) {
	var tenant Tenant
	_, err := b.readJSON(policiesPath+"/"+name, &tenant)
	if errors.Is(err, ErrNotFound) {
		return Tenant{}, Refuse(ErrNotFound, "Tenant does not exist")
	}
	return tenant, err
}

// PutTenant creates a tenant, or with update changes one that exists.
func (b *Broker) PutTenant(name string, tenant Tenant, update bool) error {
	if err := CheckNamespaceName(name, "default"); err != nil {
		return fmt.Errorf("Tenant name is not valid: %w", err)
	}
	if len(tenant.AllowedClusters) == 0 {
		return Refuse(ErrPreconditionFailed, "Clusters can not be empty")
	}
	for _, cluster := range tenant.AllowedClusters {
		if _, err := b.ClusterData(cluster); err != nil {
			return Refuse(ErrPreconditionFailed, "Clusters do not exist: %s", cluster)
		}
	}
	if tenant.AdminRoles == nil {
		tenant.AdminRoles = []string{}
	}
	if update {
		return b.writeJSON(policiesPath+"/"+name, tenant, -1)
	}
	if err := b.createJSON(policiesPath+"/"+name, tenant); err != nil {
		if errors.Is(err, ErrExists) {
			return Refuse(ErrExists, "Tenant already exist")
		}
		return err
	}
	return nil
}

// DeleteTenant deletes a tenant without namespaces.
func (b *Broker) DeleteTenant(name string) error {
	if _, err := b.Tenant(name); err != nil {
		return err
	}
	namespaces, err := b.Namespaces(name)
	if err != nil {
		return err
	}
	if len(namespaces) > 0 {
		return Refuse(ErrConflict, "The tenant still has active namespaces")
	}
	return cmpError(b.removeTree(localPoliciesPath+"/"+name), b.removeTree(partitionedPath+"/"+name), b.remove(policiesPath+"/"+name))
}

// RemoveNamespace deletes a namespace that has no topics.
func (b *Broker) RemoveNamespace(ctx context.Context, namespace string) error {
	topics, err := b.TopicsOfNamespace(ctx, namespace, AllTopics)
	if err != nil {
		return err
	}
	partitioned, err := b.PartitionedTopics(namespace, Persistent)
	if err != nil {
		return err
	}
	if len(topics)+len(partitioned) > 0 {
		return Refuse(ErrConflict, "Cannot delete non empty namespace")
	}
	for _, owned := range b.ownership.list() {
		if owned.Namespace != namespace {
			continue
		}
		if err := b.UnloadBundle(ctx, owned); err != nil {
			return err
		}
	}
	return cmpError(
		b.remove(policiesPath+"/"+namespace), b.removeTree(localPoliciesPath+"/"+namespace),
		b.removeTree(partitionedPath+"/"+namespace), b.removeTree(schemasPath+"/"+namespace),
		b.removeTree(managedLedgersPath+"/"+namespace))
}

// Clusters lists the clusters, sorted; the marker "global" is none.
func (b *Broker) Clusters() ([]string, error) {
	names, err := b.children(clustersPath)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "global" })
	slices.Sort(names)
	return names, err
}

// ClusterData reads a cluster.
func (b *Broker) ClusterData(name string) (ClusterData, error) {
	var data ClusterData
	_, err := b.readJSON(clustersPath+"/"+name, &data)
	if errors.Is(err, ErrNotFound) {
		return ClusterData{}, Refuse(ErrNotFound, "Cluster does not exist")
	}
	return data, err
}

// PutCluster creates a cluster, or with update changes one that exists.
func (b *Broker) PutCluster(name string, data ClusterData, update bool) error {
	if err := CheckNamespaceName(name, "default"); err != nil {
		return err
	}
	if update {
		return b.writeJSON(clustersPath+"/"+name, data, -1)
	}
	if err := b.createJSON(clustersPath+"/"+name, data); err != nil {
		if errors.Is(err, ErrExists) {
			return Refuse(ErrExists, "Cluster already exists")
		}
		return err
	}
	return nil
}

// DeleteCluster forgets a cluster.
func (b *Broker) DeleteCluster(name string) error {
	if _, err := b.ClusterData(name); err != nil {
		return err
	}
	return b.removeTree(clustersPath + "/" + name)
}

// SplitBundle cuts a bundle that this broker owns. The children are owned here too; with unload they are given up at once, so that
// the leader spreads them.
func (b *Broker) SplitBundle(ctx context.Context, parent Bundle, algorithm string, positions []uint32, unload bool) error {
	if !b.Owns(parent) {
		return Refuse(ErrNotFound, "bundle %v is not owned by %s", parent, b.id)
	}
	cuts, err := b.cuts(parent, algorithm, positions)
	if err != nil {
		return err
	}
	var children []bundle.Range
	for unanswered := false; ; {
		bundles, version, err := b.NamespaceBundles(parent.Namespace)
		if err != nil {
			return err
		}
		if unanswered && !bundles.Has(parent.Range) {
			break // the write whose answer was lost has been done
		}
		next, made, err := bundles.SplitAt(parent.Range, cuts)
		if err != nil {
			return err
		}
		children = made
		// The children are owned before anybody can look them up.
		for _, child := range children {
			if _, err := b.acquire(ctx, Bundle{Namespace: parent.Namespace, Range: child}); err != nil {
				return err
			}
		}
		data := BundlesData{Boundaries: next.Boundaries(), NumBundles: next.Count()}
		err = b.writeJSON(localPoliciesPath+"/"+parent.Namespace, localPolicies{Bundles: data}, version)
		unanswered = errors.Is(err, zk.ErrConnectionClosed)
		if errors.Is(err, ErrConflict) || unanswered {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	// From here on the bundle is cut: whatever fails now, no topic may stay behind as one of the parent's.
	told := b.tellBundles(parent.Namespace)
	// The parent's topics are closed; they load again as topics of the children.
	err = cmpError(told, b.unloadBundle(ctx, parent, trace.ReasonSplit))
	if !unload {
		return err
	}
	for _, child := range children {
		err = cmpError(err, b.UnloadBundle(ctx, Bundle{Namespace: parent.Namespace, Range: child}))
	}
	return err
}

// tellBundles writes into a namespace's policies how it is cut.
func (b *Broker) tellBundles(namespace string) error {
	bundles, _, err := b.NamespaceBundles(namespace)
	if err != nil {
		return err
	}
	data := BundlesData{Boundaries: bundles.Boundaries(), NumBundles: bundles.Count()}
	return b.ChangePolicies(namespace, func(p *Policies) error { p.known.Bundles = &data; return nil })
}

func (b *Broker) cuts(parent Bundle, algorithm string, positions []uint32) ([]uint32, error) {
	switch algorithm {
	case "", bundle.RangeEquallyDivide:
		return []uint32{bundle.Midpoint(parent.Range)}, nil
	case bundle.SpecifiedPositionsDivide:
		return positions, nil
	case bundle.TopicCountEquallyDivide:
		var hashes []uint32
		for _, t := range b.topics.all() {
			if t.bundle == parent {
				hashes = append(hashes, bundle.Hash(t.name.String()))
			}
		}
		cut, err := bundle.TopicCountMidpoint(parent.Range, hashes)
		return []uint32{cut}, err
	}
	return nil, Refuse(ErrBadRequest, "unknown split algorithm %q; known are %s, %s, %s", algorithm, bundle.RangeEquallyDivide, bundle.TopicCountEquallyDivide, bundle.SpecifiedPositionsDivide)
}

// Bundles is how a namespace is cut, as the policies say it.
func (p *Policies) Bundles() BundlesData {
	if p.known.Bundles == nil {
		return BundlesData{Boundaries: []string{}}
	}
	return *p.known.Bundles
}

// BacklogQuotas are the namespace's backlog quotas by type: destination_storage, message_age.
func (p *Policies) BacklogQuotas() map[string]BacklogQuota { return p.known.BacklogQuotas }

// SetBacklogQuota sets one, or removes it when quota is nil.
func (p *Policies) SetBacklogQuota(kind string, quota *BacklogQuota) {
	quotas := map[string]BacklogQuota{}
	for name, value := range p.known.BacklogQuotas {
		quotas[name] = value
	}
	delete(quotas, kind)
	if quota != nil {
		quotas[kind] = *quota
	}
	p.known.BacklogQuotas = quotas
}

// TopicHashes are the hashes of the topics of a bundle that are loaded here.
func (b *Broker) TopicHashes(of Bundle) map[string]uint32 {
	hashes := map[string]uint32{}
	for _, t := range b.topics.all() {
		if t.bundle == of {
			hashes[t.name.String()] = bundle.Hash(t.name.String())
		}
	}
	return hashes
}
