package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
)

// encode writes JSON as Jackson does: no space, no HTML escaping (a rack may hold '<').
func encode(payload any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(payload); err != nil {
		panic(fmt.Sprintf("metadata: a znode payload of plain values cannot fail to encode: %v", err))
	}
	return bytes.TrimRight(buffer.Bytes(), "\n")
}

func decode(path string, data []byte, payload any) error {
	if err := json.Unmarshal(data, payload); err != nil {
		return fmt.Errorf("the payload of %s cannot be read: %w", path, err)
	}
	return nil
}

// ClusterID is the payload of /cluster/id. Here, and only here, the version is a string.
type ClusterID struct {
	Version string `json:"version"`
	ID      string `json:"id"`
}

// NewClusterID returns the payload for an id (22 characters of base64url).
func NewClusterID(id string) ClusterID { return ClusterID{Version: "1", ID: id} }

// Encode returns the payload's bytes.
func (c ClusterID) Encode() []byte { return encode(c) }

// DecodeClusterID reads the payload of /cluster/id.
func DecodeClusterID(data []byte) (c ClusterID, err error) {
	err = decode(ClusterIDPath, data, &c)
	return c, err
}

// Controller is the payload of /controller.
type Controller struct {
	Version  int   `json:"version"`
	BrokerID int32 `json:"brokerid"`
	// Timestamp is milliseconds since 1970, as a string.
	Timestamp string `json:"timestamp"`
	// KRaftControllerEpoch is -1 in a ZooKeeper cluster.
	KRaftControllerEpoch int `json:"kraftControllerEpoch"`
}

// NewController returns the payload a broker writes when it races for /controller.
func NewController(broker int32, atMS int64) Controller {
	return Controller{Version: 2, BrokerID: broker, Timestamp: strconv.FormatInt(atMS, 10), KRaftControllerEpoch: -1}
}

// Encode returns the payload's bytes.
func (c Controller) Encode() []byte { return encode(c) }

// DecodeController reads the payload of /controller.
func DecodeController(data []byte) (c Controller, err error) {
	err = decode(ControllerPath, data, &c)
	return c, err
}

// EncodeControllerEpoch is the payload of /controller_epoch: a bare integer.
func EncodeControllerEpoch(epoch int32) []byte { return []byte(strconv.Itoa(int(epoch))) }

// DecodeControllerEpoch reads the payload of /controller_epoch.
func DecodeControllerEpoch(data []byte) (int32, error) {
	epoch, err := strconv.ParseInt(string(data), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the payload of %s is not a number: %w", ControllerEpochPath, err)
	}
	return int32(epoch), nil
}

// Topic is the payload of /brokers/topics/T.
type Topic struct {
	ID TopicID
	// Replicas[p] are the brokers of partition p, preferred leader first.
	Replicas map[int32][]int32
	// Adding and Removing hold the partitions that are being reassigned; empty when idle.
	Adding   map[int32][]int32
	Removing map[int32][]int32
}

// topicPayload is version 3: {"version":3,"topic_id":"…","partitions":{"0":[1,2,3]},"adding_replicas":{},"removing_replicas":{}}
type topicPayload struct {
	Version    int                `json:"version"`
	TopicID    string             `json:"topic_id,omitempty"`
	Partitions map[string][]int32 `json:"partitions"`
	Adding     map[string][]int32 `json:"adding_replicas"`
	Removing   map[string][]int32 `json:"removing_replicas"`
}

// Encode returns the payload's bytes. The adding and removing maps are always written.
func (t Topic) Encode() []byte {
	payload := topicPayload{Version: 3, Partitions: toText(t.Replicas), Adding: toText(t.Adding), Removing: toText(t.Removing)}
	if t.ID != (TopicID{}) {
		payload.TopicID = t.ID.String()
	}
	return encode(payload)
}

// DecodeTopic reads the payload of /brokers/topics/T; versions 1 (partitions only) to 3.
func DecodeTopic(topic string, data []byte) (Topic, error) {
	path := TopicPath(topic)
	var payload topicPayload
	if err := decode(path, data, &payload); err != nil {
		return Topic{}, err
	}
	var t Topic
	var err error
	if payload.TopicID != "" {
		if t.ID, err = ParseTopicID(payload.TopicID); err != nil {
			return Topic{}, fmt.Errorf("the payload of %s: %w", path, err)
		}
	}
	if t.Replicas, err = fromText(path, payload.Partitions); err != nil {
		return Topic{}, err
	}
	if t.Adding, err = fromText(path, payload.Adding); err != nil {
		return Topic{}, err
	}
	if t.Removing, err = fromText(path, payload.Removing); err != nil {
		return Topic{}, err
	}
	return t, nil
}

// Partitions lists the partition numbers in order.
func (t Topic) Partitions() []int32 {
	numbers := make([]int32, 0, len(t.Replicas))
	for number := range t.Replicas {
		numbers = append(numbers, number)
	}
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
	return numbers
}

func toText(replicas map[int32][]int32) map[string][]int32 {
	text := make(map[string][]int32, len(replicas))
	for partition, brokers := range replicas {
		if brokers == nil {
			brokers = []int32{}
		}
		text[strconv.Itoa(int(partition))] = brokers
	}
	return text
}

func fromText(path string, text map[string][]int32) (map[int32][]int32, error) {
	replicas := make(map[int32][]int32, len(text))
	for key, brokers := range text {
		partition, err := strconv.ParseInt(key, 10, 32)
		if err != nil || partition < 0 {
			return nil, fmt.Errorf("the payload of %s names a partition %q", path, key)
		}
		replicas[int32(partition)] = brokers
	}
	return replicas, nil
}

// PartitionState is the payload of …/partitions/P/state. The znode's version is the partition epoch.
type PartitionState struct {
	ControllerEpoch int32   `json:"controller_epoch"`
	Leader          int32   `json:"leader"` // NoLeader when there is none
	Version         int     `json:"version"`
	LeaderEpoch     int32   `json:"leader_epoch"`
	ISR             []int32 `json:"isr"`
	// RecoveryState is Recovering after an unclean election; left out of the payload otherwise.
	RecoveryState int8 `json:"leader_recovery_state,omitempty"`
}

const (
	// NoLeader stands in the leader's place when a partition has none.
	NoLeader int32 = -1
	// LeaderDuringDelete stands in the leader's place in UpdateMetadata when the topic is being deleted.
	LeaderDuringDelete int32 = -2
	// InitialLeaderEpoch is a new partition's leader epoch.
	InitialLeaderEpoch int32 = 0

	// Recovered and Recovering are leader recovery states.
	Recovered  int8 = 0
	Recovering int8 = 1
)

// Encode returns the payload's bytes.
func (s PartitionState) Encode() []byte {
	s.Version = 1
	if s.ISR == nil {
		s.ISR = []int32{}
	}
	return encode(s)
}

// DecodePartitionState reads the payload of a state znode.
func DecodePartitionState(path string, data []byte) (s PartitionState, err error) {
	err = decode(path, data, &s)
	return s, err
}

// Config is the payload of /config/TYPE/ENTITY: only what was set, as strings.
type Config struct {
	Version int               `json:"version"`
	Config  map[string]string `json:"config"`
}

// NewConfig returns the payload for a set of configs.
func NewConfig(config map[string]string) Config { return Config{Version: 1, Config: config} }

// Encode returns the payload's bytes.
func (c Config) Encode() []byte {
	c.Version = 1
	if c.Config == nil {
		c.Config = map[string]string{}
	}
	return encode(c)
}

// DecodeConfig reads the payload of a config znode.
func DecodeConfig(path string, data []byte) (c Config, err error) {
	err = decode(path, data, &c)
	return c, err
}

// ConfigChange is the payload of /config/changes/config_change_N: which entity to read again, such as "topics/orders".
type ConfigChange struct {
	Version    int    `json:"version"`
	EntityPath string `json:"entity_path"`
}

// NewConfigChange returns the payload for an entity.
func NewConfigChange(entityType, entity string) ConfigChange {
	return ConfigChange{Version: 2, EntityPath: entityType + "/" + entity}
}

// Encode returns the payload's bytes.
func (c ConfigChange) Encode() []byte { return encode(c) }

// DecodeConfigChange reads the payload of a config change.
func DecodeConfigChange(path string, data []byte) (c ConfigChange, err error) {
	err = decode(path, data, &c)
	return c, err
}

// ProducerIDBlock is the payload of /latest_producer_id_block: the block of producer ids that a broker took last.
type ProducerIDBlock struct {
	Version int    `json:"version"`
	Broker  int32  `json:"broker"`
	Start   string `json:"block_start"`
	End     string `json:"block_end"`
}

// ProducerIDBlockSize is how many ids a block holds.
const ProducerIDBlockSize = 1000

// NewProducerIDBlock returns the payload for the block that begins at start.
func NewProducerIDBlock(broker int32, start int64) ProducerIDBlock {
	return ProducerIDBlock{
		Version: 1, Broker: broker,
		Start: strconv.FormatInt(start, 10), End: strconv.FormatInt(start+ProducerIDBlockSize-1, 10),
	}
}

// Encode returns the payload's bytes.
func (b ProducerIDBlock) Encode() []byte { return encode(b) }

// DecodeProducerIDBlock reads the payload and returns the first and the last id of the block.
func DecodeProducerIDBlock(data []byte) (first, last int64, err error) {
	var block ProducerIDBlock
	if err := decode(ProducerIDBlockPath, data, &block); err != nil {
		return 0, 0, err
	}
	if first, err = strconv.ParseInt(block.Start, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("the payload of %s: block_start: %w", ProducerIDBlockPath, err)
	}
	if last, err = strconv.ParseInt(block.End, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("the payload of %s: block_end: %w", ProducerIDBlockPath, err)
	}
	return first, last, nil
}

// Feature is the payload of /feature.
type Feature struct {
	Version  int              `json:"version"`
	Status   int              `json:"status"`
	Features map[string]int16 `json:"features"`
}

// NewFeature returns the payload of a cluster that finalised no feature.
func NewFeature() Feature { return Feature{Version: 2, Status: 1, Features: map[string]int16{}} }

// Encode returns the payload's bytes.
func (f Feature) Encode() []byte { return encode(f) }

// LogDirEvent is the payload of a notice below /log_dir_event_notification: a broker that is up cannot serve some of its replicas. The
// controller asks for their state by LeaderAndIsr.
type LogDirEvent struct {
	Version int   `json:"version"`
	Broker  int32 `json:"broker"`
	Event   int   `json:"event"` // 1: failure; there is no other
}

// NewLogDirEvent returns the payload for a broker.
func NewLogDirEvent(broker int32) LogDirEvent {
	return LogDirEvent{Version: 1, Broker: broker, Event: 1}
}

// Encode returns the payload's bytes.
func (e LogDirEvent) Encode() []byte { return encode(e) }

// PartitionList is the payload of the legacy admin triggers and of ISR change notifications.
type PartitionList struct {
	Version    int               `json:"version"`
	Partitions []ListedPartition `json:"partitions"`
}

// ListedPartition is one partition of a PartitionList; Replicas only in /admin/reassign_partitions.
type ListedPartition struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas,omitempty"`
}

// Encode returns the payload's bytes.
func (l PartitionList) Encode() []byte {
	l.Version = 1
	if l.Partitions == nil {
		l.Partitions = []ListedPartition{}
	}
	return encode(l)
}

// DecodePartitionList reads such a payload.
func DecodePartitionList(path string, data []byte) (l PartitionList, err error) {
	err = decode(path, data, &l)
	return l, err
}
