package metadata

import (
	"strconv"
	"strings"
)

// Paths of znodes that are not made from a name.
const (
	ClusterIDPath         = "/cluster/id"
	BrokerIDsPath         = "/brokers/ids"
	TopicsPath            = "/brokers/topics"
	BrokerSequencePath    = "/brokers/seqid"
	ControllerPath        = "/controller"
	ControllerEpochPath   = "/controller_epoch"
	ConfigChangesPath     = "/config/changes"
	DeleteTopicsPath      = "/admin/delete_topics"
	ReassignPath          = "/admin/reassign_partitions"
	PreferredElectionPath = "/admin/preferred_replica_election"
	ISRChangesPath        = "/isr_change_notification"
	LogDirEventsPath      = "/log_dir_event_notification"
	ProducerIDBlockPath   = "/latest_producer_id_block"
	FeaturePath           = "/feature"

	// ConfigChangePrefix is completed by the ensemble with a sequence number.
	ConfigChangePrefix = ConfigChangesPath + "/config_change_"
	// LogDirEventPrefix is completed in the same way.
	LogDirEventPrefix = LogDirEventsPath + "/log_dir_event_"
)

// Entity types below /config.
const (
	ConfigTopics  = "topics"
	ConfigBrokers = "brokers"
	ConfigClients = "clients"
	ConfigUsers   = "users"
	ConfigIPs     = "ips"

	// DefaultEntity is the child that holds the defaults of an entity type.
	DefaultEntity = "<default>"
)

// PersistentPaths are the znodes that exist from the first broker's start on, parents before children.
func PersistentPaths() []string {
	return []string{
		"/cluster", "/consumers", "/brokers", BrokerIDsPath, TopicsPath, BrokerSequencePath,
		"/config", ConfigChangesPath,
		"/config/" + ConfigTopics, "/config/" + ConfigClients, "/config/" + ConfigUsers, "/config/" + ConfigBrokers, "/config/" + ConfigIPs,
		"/admin", DeleteTopicsPath, ISRChangesPath, LogDirEventsPath, ProducerIDBlockPath,
	}
}

// BrokerIDPath is a broker's ephemeral registration; its czxid is the broker epoch.
func BrokerIDPath(id int32) string { return BrokerIDsPath + "/" + strconv.Itoa(int(id)) }

// TopicPath holds a topic's id and assignment.
func TopicPath(topic string) string { return TopicsPath + "/" + topic }

// PartitionsPath is the parent of a topic's partitions; the controller creates it.
func PartitionsPath(topic string) string { return TopicPath(topic) + "/partitions" }

// PartitionPath is the parent of a partition's state.
func PartitionPath(topic string, partition int32) string {
	return PartitionsPath(topic) + "/" + strconv.Itoa(int(partition))
}

// PartitionStatePath holds leader, leader epoch and ISR; its version is the partition epoch.
func PartitionStatePath(topic string, partition int32) string {
	return PartitionPath(topic, partition) + "/state"
}

// ConfigPath holds the configs that were set on an entity, such as ConfigPath(ConfigTopics, "orders").
func ConfigPath(entityType, entity string) string { return "/config/" + entityType + "/" + entity }

// DeleteTopicPath marks a topic for deletion.
func DeleteTopicPath(topic string) string { return DeleteTopicsPath + "/" + topic }

// ParseBrokerID reads a child name of BrokerIDsPath.
func ParseBrokerID(child string) (int32, bool) {
	id, err := strconv.ParseInt(child, 10, 32)
	return int32(id), err == nil && id >= 0
}

// ValidTopicName tells whether Kafka accepts a topic name: 1 to 249 characters out of letters, digits, '.', '_' and '-', but not "."
// or "..".
func ValidTopicName(topic string) bool {
	if topic == "" || topic == "." || topic == ".." || len(topic) > 249 {
		return false
	}
	return strings.IndexFunc(topic, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}
