package lab

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/expr-lang/expr"
)

// Action is one thing that a student, a set-up or a solution does. Exactly one field of what it does is set.
type Action struct {
	KafkaCreateTopic *KafkaCreateTopic `yaml:"kafka.createTopic"`
	KafkaDeleteTopic *KafkaDeleteTopic `yaml:"kafka.deleteTopic"`
	KafkaDeleteGroup *KafkaDeleteGroup `yaml:"kafka.deleteGroup"`
	KafkaConfigure   *KafkaConfigure   `yaml:"kafka.configure"`
	KafkaProduce     *KafkaProduce     `yaml:"kafka.produce"`
	KafkaConsume     *KafkaConsume     `yaml:"kafka.consume"`
	KafkaJoin        *KafkaJoin        `yaml:"kafka.join"`
	KafkaCommit      *KafkaCommit      `yaml:"kafka.commit"`

	PulsarDeleteTopic  *PulsarTopic        `yaml:"pulsar.deleteTopic"`
	PulsarCreateTopic  *PulsarCreateTopic  `yaml:"pulsar.createTopic"`
	PulsarSubscribe    *PulsarSubscribe    `yaml:"pulsar.subscribe"`
	PulsarProduce      *PulsarProduce      `yaml:"pulsar.produce"`
	PulsarConsume      *PulsarConsume      `yaml:"pulsar.consume"`
	PulsarUnload       *PulsarUnload       `yaml:"pulsar.unload"`
	PulsarUnloadBundle *PulsarUnloadBundle `yaml:"pulsar.unloadBundle"`

	EnsembleSet    *EnsembleSet    `yaml:"ensemble.set"`
	EnsembleDelete *EnsembleDelete `yaml:"ensemble.delete"`
	EnsembleOpen   *EnsembleOpen   `yaml:"ensemble.open"`

	NodeKill   *NodeKill   `yaml:"node.kill"`
	NodeStop   *NodeStop   `yaml:"node.stop"`
	NodeStart  *NodeStart  `yaml:"node.start"`
	NodePause  *NodePause  `yaml:"node.pause"`
	NodeResume *NodeResume `yaml:"node.resume"`
	LinkSet    *LinkSet    `yaml:"link.set"`
	LinkHeal   *LinkHeal   `yaml:"link.heal"`

	Close *Close `yaml:"close"`
	Wait  *Wait  `yaml:"wait"`
}

// Doing is what an action does: a pointer to one of the types below.
type Doing interface{ check() error }

// Step returns the one thing that the action does, or tells what is wrong with it.
func (a Action) Step() (Doing, error) {
	var steps []Doing
	fields := reflect.ValueOf(a)
	for i := range fields.NumField() {
		if field := fields.Field(i); !field.IsNil() {
			steps = append(steps, field.Interface().(Doing))
		}
	}
	if len(steps) != 1 {
		return nil, fmt.Errorf("it does %d things instead of one", len(steps))
	}
	return steps[0], steps[0].check()
}

// Kind is the name of what the action does, as lab.yaml has it: kafka.produce. It is empty when nothing is set.
func (a Action) Kind() string {
	fields := reflect.ValueOf(a)
	for i := range fields.NumField() {
		if !fields.Field(i).IsNil() {
			return fields.Type().Field(i).Tag.Get("yaml")
		}
	}
	return ""
}

func require(complete bool, what string) error {
	if !complete {
		return errors.New(what)
	}
	return nil
}

// KafkaCreateTopic creates a topic, with configuration such as min.insync.replicas.
type KafkaCreateTopic struct {
	Topic       string            `yaml:"topic"`
	Partitions  int32             `yaml:"partitions"`
	Replication int16             `yaml:"replication"`
	Config      map[string]string `yaml:"config"`
}

func (a *KafkaCreateTopic) check() error {
	return require(a.Topic != "" && a.Partitions > 0 && a.Replication > 0, "kafka.createTopic needs topic, partitions and replication")
}

// KafkaConfigure alters settings of a topic.
type KafkaConfigure struct {
	Topic  string            `yaml:"topic"`
	Config map[string]string `yaml:"config"`
}

func (a *KafkaConfigure) check() error {
	return require(a.Topic != "" && len(a.Config) > 0, "kafka.configure needs topic and config")
}

// KafkaDeleteTopic deletes a topic; that there is none is fine.
type KafkaDeleteTopic struct {
	Topic string `yaml:"topic"`
}

func (a *KafkaDeleteTopic) check() error {
	return require(a.Topic != "", "kafka.deleteTopic needs a topic")
}

// KafkaDeleteGroup deletes a consumer group; that there is none is fine.
type KafkaDeleteGroup struct {
	Group string `yaml:"group"`
}

func (a *KafkaDeleteGroup) check() error {
	return require(a.Group != "", "kafka.deleteGroup needs a group")
}

// KafkaProduce writes Count records "order 1", "order 2", … With Keys, the keys "key-1" to "key-<Keys>" in turn, and each key's records
// go to one partition, as Kafka's own producer chooses it. With Size, each value is filled up to so many bytes. Acks is all (the default), 1 or 0. With ExpectError, the protocol's name of
// an error such as NOT_ENOUGH_REPLICAS, it is the error that must come.
type KafkaProduce struct {
	Topic       string `yaml:"topic"`
	Count       int    `yaml:"count"`
	Keys        int    `yaml:"keys"`
	Size        int    `yaml:"size"`
	Acks        string `yaml:"acks"`
	ExpectError string `yaml:"expectError"`
}

func (a *KafkaProduce) check() error {
	if !slices.Contains([]string{"", "all", "1", "0"}, a.Acks) {
		return fmt.Errorf("acks is all, 1 or 0, not %q", a.Acks)
	}
	if a.Keys < 0 || a.Size < 0 || a.Size > largestRecord {
		return fmt.Errorf("keys is %d and size %d; neither is below 0, and size at most %d", a.Keys, a.Size, largestRecord)
	}
	return require(a.Topic != "" && a.Count > 0, "kafka.produce needs topic and count")
}

const largestRecord = 512 << 10

// KafkaCommit sets what a group, which has no members at that time, has committed of a partition.
type KafkaCommit struct {
	Topic     string `yaml:"topic"`
	Group     string `yaml:"group"`
	Partition int32  `yaml:"partition"`
	Offset    int64  `yaml:"offset"`
}

func (a *KafkaCommit) check() error {
	return require(a.Topic != "" && a.Group != "" && a.Partition >= 0 && a.Offset >= 0, "kafka.commit needs topic, group, partition and offset")
}

// KafkaConsume reads until Count records were read, commits and leaves the group. Without a group it reads and commits nothing.
type KafkaConsume struct {
	Topic string `yaml:"topic"`
	Group string `yaml:"group"`
	Count int    `yaml:"count"`
}

func (a *KafkaConsume) check() error {
	return require(a.Topic != "" && a.Count > 0, "kafka.consume needs topic and count")
}

// KafkaJoin starts a consumer that stays in the group until close names it or the attempt ends. With Instance it is a static member: on
// close it does not leave the group.
type KafkaJoin struct {
	As       string `yaml:"as"` // its name for close, and its client.id
	Group    string `yaml:"group"`
	Topic    string `yaml:"topic"`
	Instance string `yaml:"instance"`
	// Strategy is range, roundrobin, sticky or cooperative-sticky (the default).
	Strategy string `yaml:"strategy"`
}

func (a *KafkaJoin) check() error {
	if !slices.Contains([]string{"", "range", "roundrobin", "sticky", "cooperative-sticky"}, a.Strategy) {
		return fmt.Errorf("strategy is range, roundrobin, sticky or cooperative-sticky, not %q", a.Strategy)
	}
	return require(a.As != "" && a.Group != "" && a.Topic != "", "kafka.join needs as, group and topic")
}

// PulsarTopic names a topic: "persistent://public/default/orders".
type PulsarTopic struct {
	Topic string `yaml:"topic"`
}

func (a *PulsarTopic) check() error {
	return require(a.Topic != "", "pulsar.deleteTopic needs a topic")
}

// PulsarCreateTopic creates a topic; with Partitions, a partitioned one.
type PulsarCreateTopic struct {
	Topic      string `yaml:"topic"`
	Partitions int    `yaml:"partitions"`
}

func (a *PulsarCreateTopic) check() error {
	return require(a.Topic != "" && a.Partitions >= 0, "pulsar.createTopic needs a topic, and partitions above 0 when it is partitioned")
}

// PulsarUnloadBundle makes the owner of a bundle give it up: Bundle is its hash range, 0x00000000_0x40000000.
type PulsarUnloadBundle struct {
	Namespace string `yaml:"namespace"`
	Bundle    string `yaml:"bundle"`
}

func (a *PulsarUnloadBundle) check() error {
	return require(a.Namespace != "" && a.Bundle != "", "pulsar.unloadBundle needs namespace and bundle")
}

// PulsarSubscribe creates a durable subscription that begins at the earliest message.
type PulsarSubscribe struct {
	Topic        string `yaml:"topic"`
	Subscription string `yaml:"subscription"`
}

func (a *PulsarSubscribe) check() error {
	return require(a.Topic != "" && a.Subscription != "", "pulsar.subscribe needs topic and subscription")
}

// PulsarProduce publishes Count messages.
type PulsarProduce struct {
	Topic string `yaml:"topic"`
	Count int    `yaml:"count"`
}

func (a *PulsarProduce) check() error {
	return require(a.Topic != "" && a.Count > 0, "pulsar.produce needs topic and count")
}

// PulsarConsume receives Count messages on a subscription (from its earliest message when it is new) and acknowledges them, unless
// NoAck is set.
type PulsarConsume struct {
	Topic        string `yaml:"topic"`
	Subscription string `yaml:"subscription"`
	Count        int    `yaml:"count"`
	NoAck        bool   `yaml:"noAck"`
}

func (a *PulsarConsume) check() error {
	return require(a.Topic != "" && a.Subscription != "" && a.Count > 0, "pulsar.consume needs topic, subscription and count")
}

// PulsarUnload makes the owner of a topic give it up, through the admin API.
type PulsarUnload struct {
	Topic string `yaml:"topic"`
}

func (a *PulsarUnload) check() error { return require(a.Topic != "", "pulsar.unload needs a topic") }

// EnsembleSet sets a persistent znode's data; the znode and its parents are created when they are missing.
type EnsembleSet struct {
	Path string `yaml:"path"`
	Data string `yaml:"data"`
}

func (a *EnsembleSet) check() error { return require(isPath(a.Path), "ensemble.set needs a path") }

// EnsembleDelete deletes a znode and all below it; that there is none is fine.
type EnsembleDelete struct {
	Path string `yaml:"path"`
}

func (a *EnsembleDelete) check() error {
	return require(isPath(a.Path) && a.Path != "/", "ensemble.delete needs a path")
}

// EnsembleOpen opens a session that lasts until close names it or the attempt ends. It creates an ephemeral znode, or watches one, or both.
type EnsembleOpen struct {
	As        string `yaml:"as"`
	Ephemeral string `yaml:"ephemeral"` // path
	Watch     string `yaml:"watch"`     // path of a znode that is there
}

func (a *EnsembleOpen) check() error {
	return require(a.As != "" && (isPath(a.Ephemeral) || isPath(a.Watch)), "ensemble.open needs as, and a path for ephemeral or watch")
}

func isPath(path string) bool { return path != "" && path[0] == '/' }

// Victim is a node: by its name, or by an expression over the world that gives its name at that moment.
type Victim struct {
	Node  string `yaml:"node"`
	Which string `yaml:"which"`

	which *Expression
}

func (v *Victim) check() (err error) {
	if (v.Node == "") == (v.Which == "") {
		return errors.New("it needs either node or which")
	}
	if v.Which != "" {
		if v.which, err = Compile(v.Which, expr.AsKind(reflect.String)); err != nil {
			return fmt.Errorf("which: %w", err)
		}
	}
	return nil
}

// Expression is what gives the node's name; nil when Node does.
func (v *Victim) Expression() *Expression { return v.which }

// What can be done to a node, as on the page.
type (
	NodeKill struct {
		Victim `yaml:",inline"`
	}
	NodeStop struct {
		Victim `yaml:",inline"`
	}
	NodeStart struct {
		Victim `yaml:",inline"`
	}
	NodePause struct {
		Victim `yaml:",inline"`
	}
	NodeResume struct {
		Victim `yaml:",inline"`
	}
)

// LinkSet sets the rule of the links between two nodes, in both directions.
type LinkSet struct {
	Between []Victim `yaml:"between"`
	Cut     bool     `yaml:"cut"`
	DelayMS int64    `yaml:"delayMS"`
}

const longestDelayMS = 60_000

func (a *LinkSet) check() error {
	if len(a.Between) != 2 {
		return errors.New("link.set is between two nodes")
	}
	for i := range a.Between {
		if err := a.Between[i].check(); err != nil {
			return err
		}
	}
	return require(a.Cut != (a.DelayMS != 0) && a.DelayMS >= 0 && a.DelayMS <= longestDelayMS, "link.set needs either cut or a delayMS up to 60000")
}

// LinkHeal makes every link healthy.
type LinkHeal struct{}

func (*LinkHeal) check() error { return nil }

// Close ends what kafka.join or ensemble.open started under that name.
type Close struct {
	Name string `yaml:"name"`
}

func (a *Close) check() error { return require(a.Name != "", "close needs a name") }

// Wait goes on when Until holds. It fails when that does not come true within Within.
type Wait struct {
	Until  string        `yaml:"until"`
	Within time.Duration `yaml:"within"` // at most a minute; 45 s when it is not given

	until *Expression
}

func (a *Wait) check() (err error) {
	if a.Within == 0 {
		a.Within = 45 * time.Second
	}
	if a.Within < 0 || a.Within > time.Minute {
		return fmt.Errorf("within is %v, not between 0 and a minute", a.Within)
	}
	if a.until, err = Compile(a.Until, expr.AsBool()); err != nil {
		return fmt.Errorf("wait until: %w", err)
	}
	return nil
}

// Expression is what must hold.
func (a *Wait) Expression() *Expression { return a.until }
