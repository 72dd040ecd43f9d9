package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"twinlog/engine/pulsar/bundle"
)

// Tenant is the value of /admin/policies/{tenant} and of the tenants' REST calls.
type Tenant struct {
	AdminRoles      []string `json:"adminRoles"`
	AllowedClusters []string `json:"allowedClusters"`
}

// ClusterData is the value of /admin/clusters/{cluster}.
type ClusterData struct {
	ServiceURL          string `json:"serviceUrl,omitempty"`
	ServiceURLTLS       string `json:"serviceUrlTls,omitempty"`
	BrokerServiceURL    string `json:"brokerServiceUrl,omitempty"`
	BrokerServiceURLTLS string `json:"brokerServiceUrlTls,omitempty"`
}

// BundlesData is how a namespace is cut.
type BundlesData struct {
	Boundaries []string `json:"boundaries"`
	NumBundles int      `json:"numBundles"`
}

// Policies is the value of /admin/policies/{tenant}/{namespace}. Only what the broker acts on is typed; everything else that an
// administrator set is kept as it came.
type Policies struct {
	known knownPolicies
	other map[string]json.RawMessage
}

type knownPolicies struct {
	ReplicationClusters []string                   `json:"replication_clusters"`
	Bundles             *BundlesData               `json:"bundles,omitempty"`
	BacklogQuotas       map[string]BacklogQuota    `json:"backlog_quota_map"`
	Persistence         *PersistencePolicy         `json:"persistence,omitempty"`
	Retention           *RetentionPolicy           `json:"retention_policies,omitempty"`
	MessageTTL          *int                       `json:"message_ttl_in_seconds,omitempty"`
	AutoTopicCreation   *AutoTopicCreationOverride `json:"autoTopicCreationOverride,omitempty"`
	Deduplication       *bool                      `json:"deduplicationEnabled,omitempty"`
	// Offloading: bytes in bookies, seconds since a ledger was sealed (negative: not for this reason), milliseconds that bookies keep it.
	OffloadThreshold        *int64 `json:"offload_threshold,omitempty"`
	OffloadThresholdSeconds *int64 `json:"offload_threshold_in_seconds,omitempty"`
	OffloadDeletionLag      *int64 `json:"offload_deletion_lag_ms,omitempty"`
	Deleted                 bool   `json:"deleted"`
}

// BacklogQuota limits what a subscription may leave unacknowledged. Limit counts bytes, LimitTime seconds; 0 or less: no limit.
type BacklogQuota struct {
	LimitSize int64  `json:"limitSize"`
	LimitTime int    `json:"limitTime"`
	Policy    string `json:"policy"` // producer_request_hold, producer_exception, consumer_backlog_eviction
}

// PersistencePolicy is the quorums of a namespace's ledgers.
type PersistencePolicy struct {
	Ensemble       int     `json:"bookkeeperEnsemble"`
	WriteQuorum    int     `json:"bookkeeperWriteQuorum"`
	AckQuorum      int     `json:"bookkeeperAckQuorum"`
	MarkDeleteRate float64 `json:"managedLedgerMaxMarkDeleteRate"`
}

// RetentionPolicy keeps acknowledged messages; -1 is without limit.
type RetentionPolicy struct {
	Minutes   int   `json:"retentionTimeInMinutes"`
	Megabytes int64 `json:"retentionSizeInMB"`
}

// AutoTopicCreationOverride is a namespace's own rule for topics that do not exist yet.
type AutoTopicCreationOverride struct {
	Allow      bool   `json:"allowAutoTopicCreation"`
	TopicType  string `json:"topicType,omitempty"` // partitioned, non-partitioned
	Partitions int    `json:"defaultNumPartitions,omitempty"`
}

// MarshalJSON puts typed and other fields into one object.
func (p Policies) MarshalJSON() ([]byte, error) {
	typed, err := json.Marshal(p.known)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for name, value := range p.other {
		fields[name] = value
	}
	if err := json.Unmarshal(typed, &fields); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (p *Policies) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &p.known); err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	typed, err := json.Marshal(p.known)
	if err != nil {
		return err
	}
	names := map[string]json.RawMessage{}
	if err := json.Unmarshal(typed, &names); err != nil {
		return err
	}
	for name := range names {
		delete(fields, name)
	}
	p.other = fields
	return nil
}

// Field returns a policy by its JSON name, nil when it is not set.
func (p *Policies) Field(name string) json.RawMessage {
	whole, err := p.MarshalJSON()
	if err != nil {
		return nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(whole, &fields); err != nil {
		return nil
	}
	if string(fields[name]) == "null" {
		return nil
	}
	return fields[name]
}

// SetField sets a policy by its JSON name; nil removes it.
func (p *Policies) SetField(name string, value json.RawMessage) error {
	whole, err := p.MarshalJSON()
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(whole, &fields); err != nil {
		return err
	}
	delete(fields, name)
	if value != nil {
		fields[name] = value
	}
	merged, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	var next Policies
	if err := json.Unmarshal(merged, &next); err != nil {
		return Refuse(ErrBadRequest, "the value of policy %s is not of its kind", name)
	}
	*p = next
	return nil
}

func (p *Policies) deduplicates() bool { return p.known.Deduplication != nil && *p.known.Deduplication }

// ErrBadRequest: what an administrator asked for cannot be meant.
var ErrBadRequest = errors.New("bad request")

// localPolicies is the value of /admin/local-policies/{tenant}/{namespace}: the bundles that count. It changes by compare and set.
type localPolicies struct {
	Bundles BundlesData `json:"bundles"`
}

// NamespacePolicies reads a namespace's policies; ErrNotFound when there is no such namespace.
func (b *Broker) NamespacePolicies(namespace string) (Policies, error) {
	var policies Policies
	if _, err := b.readJSON(policiesPath+"/"+namespace, &policies); err != nil {
		return Policies{}, err
	}
	if policies.known.Deleted {
		return Policies{}, Refuse(ErrNotFound, "namespace %s is being deleted", namespace)
	}
	return policies, nil
}

// ChangePolicies applies a change to a namespace's policies, again when somebody else changed them meanwhile, and lets the topics
// that are loaded here know.
func (b *Broker) ChangePolicies(namespace string, change func(*Policies) error) error {
	for {
		var policies Policies
		version, err := b.readJSON(policiesPath+"/"+namespace, &policies)
		if err != nil {
			return err
		}
		if err := change(&policies); err != nil {
			return err
		}
		err = b.writeJSON(policiesPath+"/"+namespace, policies, version)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err == nil {
			b.policiesChanged(namespace)
		}
		return err
	}
}

// NamespaceBundles reads how a namespace is cut; version is for a later compare and set. ErrNotFound when there is no such namespace.
func (b *Broker) NamespaceBundles(namespace string) (bundles bundle.Bundles, version int32, err error) {
	var local localPolicies
	if version, err = b.readJSON(localPoliciesPath+"/"+namespace, &local); err != nil {
		return bundle.Bundles{}, 0, err
	}
	bundles, err = bundle.FromBoundaries(local.Bundles.Boundaries)
	if err != nil {
		return bundle.Bundles{}, 0, fmt.Errorf("bundles of namespace %s: %w", namespace, err)
	}
	return bundles, version, nil
}

// CreateNamespace creates a namespace of an existing tenant. Policies may name bundles and any policy; its zero value is the default.
func (b *Broker) CreateNamespace(tenant, namespace string, policies Policies) error {
	if err := CheckNamespaceName(tenant, namespace); err != nil {
		return err
	}
	if there, err := b.exists(policiesPath + "/" + tenant); err != nil || !there {
		return cmpError(err, Refuse(ErrNotFound, "Tenant does not exist"))
	}
	bundles, err := requestedBundles(policies.known.Bundles, b.config.Bundles)
	if err != nil {
		return err
	}
	data := BundlesData{Boundaries: bundles.Boundaries(), NumBundles: bundles.Count()}
	policies.known.Bundles = &data
	if len(policies.known.ReplicationClusters) == 0 {
		policies.known.ReplicationClusters = []string{b.config.Cluster}
	}
	if policies.known.BacklogQuotas == nil {
		policies.known.BacklogQuotas = map[string]BacklogQuota{}
	}
	name := tenant + "/" + namespace
	// The bundles go first: a namespace that can be seen can be looked up.
	if err := b.createJSON(localPoliciesPath+"/"+name, localPolicies{Bundles: data}); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	return b.createJSON(policiesPath+"/"+name, policies)
}

func requestedBundles(data *BundlesData, standard int) (bundle.Bundles, error) {
	switch {
	case data == nil || (data.NumBundles <= 0 && len(data.Boundaries) == 0):
		return bundle.Even(standard), nil
	case len(data.Boundaries) > 0:
		bundles, err := bundle.FromBoundaries(data.Boundaries)
		if err != nil {
			return bundle.Bundles{}, fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
		return bundles, nil
	case data.NumBundles > 4096:
		return bundle.Bundles{}, Refuse(ErrBadRequest, "a namespace has at most 4096 bundles, not %d", data.NumBundles)
	}
	return bundle.Even(data.NumBundles), nil
}

// Namespaces lists the namespaces of a tenant, as tenant/namespace, sorted.
func (b *Broker) Namespaces(tenant string) ([]string, error) {
	if there, err := b.exists(policiesPath + "/" + tenant); err != nil || !there {
		return nil, cmpError(err, Refuse(ErrNotFound, "Tenant does not exist"))
	}
	names, err := b.children(policiesPath + "/" + tenant)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = tenant + "/" + name
	}
	return names, nil
}

// cmpError is the first error that is one.
func cmpError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
