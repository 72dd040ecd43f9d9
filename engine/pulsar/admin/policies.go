package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
)

// policyRoutes are the namespace policies that are one field of the policies' znode: the last part of the path, the field, the
// method that sets it, and what the value must be.
var policyRoutes = []struct {
	path  string
	field string
	set   string
	check func(json.RawMessage) error
}{
	{"retention", "retention_policies", http.MethodPost, checkRetention},
	{"messageTTL", "message_ttl_in_seconds", http.MethodPost, checkWhole},
	{"persistence", "persistence", http.MethodPost, checkPersistence},
	{"deduplication", "deduplicationEnabled", http.MethodPost, checkBool},
	{"autoTopicCreation", "autoTopicCreationOverride", http.MethodPost, checkAutoCreation},
	{"autoSubscriptionCreation", "autoSubscriptionCreationOverride", http.MethodPost, checkObject},
	{"compactionThreshold", "compaction_threshold", http.MethodPut, checkWhole},
	{"maxProducersPerTopic", "max_producers_per_topic", http.MethodPost, checkWhole},
	{"maxConsumersPerTopic", "max_consumers_per_topic", http.MethodPost, checkWhole},
	{"maxConsumersPerSubscription", "max_consumers_per_subscription", http.MethodPost, checkWhole},
	{"subscriptionExpirationTime", "subscription_expiration_time_minutes", http.MethodPost, checkAtLeast(0, "Invalid value for subscription expiration time")},
	{"maxTopicsPerNamespace", "max_topics_per_namespace", http.MethodPost, checkAtLeast(0, "maxTopicsPerNamespace must be 0 or more")},
	{"offloadThreshold", "offload_threshold", http.MethodPut, checkAtLeast(-1, "Invalid value for offloadThreshold")},
	{"offloadThresholdInSeconds", "offload_threshold_in_seconds", http.MethodPut, checkAtLeast(-1, "Invalid value for offloadThresholdInSecond")},
	{"offloadDeletionLagMs", "offload_deletion_lag_ms", http.MethodPut, checkWhole},
	{"encryptionRequired", "encryption_required", http.MethodPost, checkBool},
	{"deduplicationSnapshotInterval", "deduplicationSnapshotIntervalSeconds", http.MethodPost, checkWhole},
	{"isAllowAutoUpdateSchema", "is_allow_auto_update_schema", http.MethodPost, checkBool},
	{"schemaValidationEnforced", "schema_validation_enforced", http.MethodPost, checkBool},
	{"schemaCompatibilityStrategy", "schema_compatibility_strategy", http.MethodPut, checkAny},
	{"dispatchRate", "topicDispatchRate", http.MethodPost, checkObject},
	{"subscriptionDispatchRate", "subscriptionDispatchRate", http.MethodPost, checkObject},
	{"publishRate", "publishMaxMessageRate", http.MethodPost, checkObject},
	{"subscribeRate", "clusterSubscribeRate", http.MethodPost, checkObject},
	{"inactiveTopicPolicies", "inactive_topic_policies", http.MethodPost, checkObject},
	{"delayedDelivery", "delayed_delivery_policies", http.MethodPost, checkObject},
	{"replication", "replication_clusters", http.MethodPost, checkAny},
	{"permissions", "auth_policies", "", checkAny},
}

func (h *handler) routePolicies(ns *gin.RouterGroup) {
	for _, route := range policyRoutes {
		ns.GET("/"+route.path, func(c *gin.Context) {
			policies, err := h.broker.NamespacePolicies(namespaceName(c))
			if err != nil {
				fail(c, namespaceError(err))
				return
			}
			value := policies.Field(route.field)
			if value == nil {
				done(c, nil) // not set: nothing, and no zeros that could be taken for a value
				return
			}
			c.Data(http.StatusOK, "application/json", value)
		})
		if route.set == "" {
			continue
		}
		ns.Handle(route.set, "/"+route.path, func(c *gin.Context) {
			raw, err := io.ReadAll(c.Request.Body)
			if err == nil {
				err = route.check(raw)
			}
			if err != nil {
				fail(c, err)
				return
			}
			done(c, h.setPolicy(namespaceName(c), route.field, raw))
		})
		ns.DELETE("/"+route.path, func(c *gin.Context) { done(c, h.setPolicy(namespaceName(c), route.field, nil)) })
	}
	ns.POST("/backlogQuota", h.setBacklogQuota)
	ns.DELETE("/backlogQuota", func(c *gin.Context) {
		done(c, namespaceError(h.broker.ChangePolicies(namespaceName(c), func(p *broker.Policies) error {
			p.SetBacklogQuota(quotaType(c), nil)
			return nil
		})))
	})
	ns.GET("/backlogQuotaMap", func(c *gin.Context) {
		policies, err := h.broker.NamespacePolicies(namespaceName(c))
		quotas := policies.BacklogQuotas()
		if quotas == nil {
			quotas = map[string]broker.BacklogQuota{}
		}
		answer(c, quotas, namespaceError(err))
	})
}

func (h *handler) setPolicy(namespace, field string, value json.RawMessage) error {
	if _, err := h.broker.NamespacePolicies(namespace); err != nil {
		tenant, _, _ := strings.Cut(namespace, "/")
		if _, missing := h.broker.Tenant(tenant); missing != nil {
			return missing
		}
	}
	return namespaceError(h.broker.ChangePolicies(namespace, func(p *broker.Policies) error { return p.SetField(field, value) }))
}

func quotaType(c *gin.Context) string {
	return c.DefaultQuery("backlogQuotaType", "destination_storage")
}

// setBacklogQuota takes the limit by its new and its old name, as a number or as a text.
func (h *handler) setBacklogQuota(c *gin.Context) {
	var posted struct {
		LimitSize json.RawMessage `json:"limitSize"`
		Limit     json.RawMessage `json:"limit"`
		LimitTime int             `json:"limitTime"`
		Policy    string          `json:"policy"`
	}
	if err := body(c, &posted); err != nil {
		fail(c, err)
		return
	}
	raw := posted.LimitSize
	if raw == nil {
		raw = posted.Limit
	}
	quota := broker.BacklogQuota{LimitTime: posted.LimitTime, Policy: posted.Policy}
	if raw != nil {
		size, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
		if err != nil {
			refuse(c, http.StatusBadRequest, "the limit is not a number of bytes: "+string(raw))
			return
		}
		quota.LimitSize = size
	}
	switch quota.Policy {
	case "producer_request_hold", "producer_exception", "consumer_backlog_eviction":
	default:
		refuse(c, http.StatusBadRequest, "policy is producer_request_hold, producer_exception or consumer_backlog_eviction, not "+quota.Policy)
		return
	}
	done(c, namespaceError(h.broker.ChangePolicies(namespaceName(c), func(p *broker.Policies) error {
		p.SetBacklogQuota(quotaType(c), &quota)
		return nil
	})))
}

func decodeNamespace(raw []byte, policies *broker.Policies) error {
	var bundles struct {
		Boundaries []string `json:"boundaries"`
		NumBundles int      `json:"numBundles"`
	}
	if err := json.Unmarshal(raw, &bundles); err == nil && (bundles.NumBundles > 0 || len(bundles.Boundaries) > 0) {
		wrapped, err := json.Marshal(bundles)
		if err != nil {
			return err
		}
		return policies.SetField("bundles", wrapped)
	}
	if err := json.Unmarshal(raw, policies); err != nil {
		return fmt.Errorf("%w: the body is no policies: %w", broker.ErrBadRequest, err)
	}
	return nil
}

func checkWhole(raw json.RawMessage) error {
	var value int64
	if err := json.Unmarshal(raw, &value); err != nil || value < 0 {
		return broker.Refuse(broker.ErrPreconditionFailed, "the value must be a whole number of 0 or more, not %q", string(raw))
	}
	return nil
}

// checkAtLeast makes a check of a whole number, with Pulsar's own words for what is too small.
func checkAtLeast(smallest int64, reason string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var value int64
		if err := json.Unmarshal(raw, &value); err != nil || value < smallest {
			return broker.Refuse(broker.ErrPreconditionFailed, "%s", reason)
		}
		return nil
	}
}

func checkBool(raw json.RawMessage) error {
	var value bool
	if err := json.Unmarshal(raw, &value); err != nil {
		return broker.Refuse(broker.ErrBadRequest, "the value must be true or false, not %q", string(raw))
	}
	return nil
}

func checkObject(raw json.RawMessage) error {
	var value map[string]any
	if err := json.Unmarshal(raw, &value); err != nil {
		return broker.Refuse(broker.ErrBadRequest, "the value must be a JSON object")
	}
	return nil
}

func checkAny(raw json.RawMessage) error {
	if !json.Valid(raw) {
		return broker.Refuse(broker.ErrBadRequest, "the value must be JSON")
	}
	return nil
}

func checkRetention(raw json.RawMessage) error {
	var value broker.RetentionPolicy
	if err := json.Unmarshal(raw, &value); err != nil {
		return broker.Refuse(broker.ErrBadRequest, "retention is {\"retentionTimeInMinutes\", \"retentionSizeInMB\"}")
	}
	if value.Minutes < -1 || value.Megabytes < -1 || (value.Minutes == 0) != (value.Megabytes == 0) {
		return broker.Refuse(broker.ErrPreconditionFailed, "Setting either both retention time and size to 0, or neither; -1 is without limit")
	}
	return nil
}

func checkPersistence(raw json.RawMessage) error {
	var value broker.PersistencePolicy
	if err := json.Unmarshal(raw, &value); err != nil {
		return broker.Refuse(broker.ErrBadRequest, "persistence is an object of the quorums")
	}
	if value.Ensemble < value.WriteQuorum || value.WriteQuorum < value.AckQuorum || value.AckQuorum < 1 {
		return broker.Refuse(broker.ErrPreconditionFailed, "Bookkeeper Ensemble (%d) >= WriteQuorum (%d) >= AckQuoru (%d)", value.Ensemble, value.WriteQuorum, value.AckQuorum)
	}
	return nil
}

func checkAutoCreation(raw json.RawMessage) error {
	var value broker.AutoTopicCreationOverride
	if err := json.Unmarshal(raw, &value); err != nil {
		return broker.Refuse(broker.ErrBadRequest, "autoTopicCreationOverride is an object")
	}
	const refused = "Invalid configuration for autoTopicCreationOverride. the detail is"
	switch {
	case value.Allow && value.TopicType != "partitioned" && value.TopicType != "non-partitioned":
		return broker.Refuse(broker.ErrPreconditionFailed, "%s Unknown topic type [%s]", refused, value.TopicType)
	case value.TopicType == "partitioned" && !strings.Contains(string(raw), "defaultNumPartitions"):
		return broker.Refuse(broker.ErrPreconditionFailed, "%s [defaultNumPartitions] cannot be null when the type is partitioned.", refused)
	case value.TopicType == "partitioned" && value.Partitions < 1:
		return broker.Refuse(broker.ErrPreconditionFailed, "%s [defaultNumPartitions] cannot be less than 1 for partition type.", refused)
	case value.TopicType == "non-partitioned" && value.Partitions > 0:
		return broker.Refuse(broker.ErrPreconditionFailed, "%s [defaultNumPartitions] is not allowed to be set when the type is non-partition.", refused)
	}
	return nil
}

// call asks another broker's admin interface. Its refusal comes back as an error of the same status.
func (h *handler) call(ctx context.Context, method, target string, result any) error {
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return err
	}
	response, err := h.broker.HTTPClient().Do(request)
	if err != nil {
		return fmt.Errorf("asking the broker at %s: %w", target, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", target, err)
	}
	if response.StatusCode >= 300 {
		var refusal struct {
			Reason string `json:"reason"`
		}
		if json.Unmarshal(raw, &refusal) != nil {
			refusal.Reason = response.Status
		}
		return fmt.Errorf("%w: %s", statusError(response.StatusCode), refusal.Reason)
	}
	if result == nil || len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, result)
}

var errOtherBroker = errors.New("the owner refused")

func statusError(status int) error {
	switch status {
	case http.StatusNotFound:
		return broker.ErrNotFound
	case http.StatusConflict:
		return broker.ErrConflict
	case http.StatusPreconditionFailed:
		return broker.ErrPreconditionFailed
	case http.StatusMethodNotAllowed:
		return broker.ErrNotAllowed
	}
	return errOtherBroker
}
