package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Step is one thing that the solution does, as the page plays it: an action, and the conditions that are waited for afterwards.
type Step struct {
	Task string `json:"task"`
	// Does says in words what is done, and Command what does the same on a real cluster; it is empty where there is no command.
	Does    string `json:"does"`
	Command string `json:"command"`
	// Waits are the expressions that must hold before the next step.
	Waits []string `json:"waits"`

	actions []Action
}

// Actions are what the step does.
func (s Step) Actions() []Action { return s.actions }

// Steps lists what the solution does, in order, in a language.
func (l *Lab) Steps(language string) (steps []Step) {
	for _, task := range l.Tasks {
		first := len(steps)
		for _, action := range l.Solution[task.ID] {
			if action.Wait != nil && len(steps) > first {
				last := &steps[len(steps)-1]
				last.actions, last.Waits = append(last.actions, action), append(last.Waits, action.Wait.Until)
				continue
			}
			step := Step{Task: task.ID, Waits: []string{}, actions: []Action{action}}
			step.Does, step.Command = action.tell(language)
			steps = append(steps, step)
		}
	}
	return steps
}

// told is what an action does, in each language, and its command.
type told struct{ en, zh, command string }

// tell puts an action into words.
func (a Action) tell(language string) (does, command string) {
	step, err := a.Step()
	if err != nil {
		return err.Error(), ""
	}
	teller, ok := step.(interface{ told() told })
	if !ok {
		return fmt.Sprintf("%T", step), ""
	}
	words := teller.told()
	if language == "zh" {
		return words.zh, words.command
	}
	return words.en, words.command
}

func options(config map[string]string, option string) (text string) {
	for _, name := range slices.Sorted(keysOf(config)) {
		text += " " + option + " " + name + "=" + config[name]
	}
	return text
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// counted is a number with its noun: 1 replica, 3 replicas.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// What the commands begin with.
const (
	kafkaServer  = " --bootstrap-server " + KafkaPlaceholder
	pulsarClient = "bin/twinlog pulsar-client --url " + PulsarPlaceholder
	pulsarAdmin  = "pulsar-admin --admin-url " + AdminPlaceholder
	zookeeper    = "bin/twinlog zookeeper-client --server " + EnsemblePlaceholder
)

func (a *KafkaCreateTopic) told() told {
	return told{
		fmt.Sprintf("Create the Kafka topic %s: %s, %s", a.Topic, counted(int(a.Partitions), "partition"), counted(int(a.Replication), "replica")),
		fmt.Sprintf("创建 Kafka topic %s：%d 个分区，%d 个副本", a.Topic, a.Partitions, a.Replication),
		fmt.Sprintf("kafka-topics.sh%s --create --topic %s --partitions %d --replication-factor %d%s", kafkaServer, a.Topic, a.Partitions, a.Replication, options(a.Config, "--config")),
	}
}

func (a *KafkaConfigure) told() told {
	settings := strings.TrimSpace(options(a.Config, ""))
	return told{
		fmt.Sprintf("Set %s on the topic %s", settings, a.Topic), fmt.Sprintf("在 topic %s 上设置 %s", a.Topic, settings),
		fmt.Sprintf("kafka-configs.sh%s --alter --topic %s%s", kafkaServer, a.Topic, options(a.Config, "--add-config")),
	}
}

func (a *KafkaDeleteTopic) told() told {
	return told{"Delete the Kafka topic " + a.Topic, "删除 Kafka topic " + a.Topic, "kafka-topics.sh" + kafkaServer + " --delete --topic " + a.Topic}
}

func (a *KafkaDeleteGroup) told() told {
	return told{"Delete the consumer group " + a.Group, "删除消费者组 " + a.Group, "kafka-consumer-groups.sh" + kafkaServer + " --delete --group " + a.Group}
}

func (a *KafkaProduce) told() told {
	acks := a.Acks
	if acks == "" {
		acks = "all"
	}
	lines := fmt.Sprintf("seq %d", a.Count)
	words := told{en: fmt.Sprintf("Write %s to %s with acks=%s", counted(a.Count, "record"), a.Topic, acks), zh: fmt.Sprintf("以 acks=%s 向 %s 写入 %d 条消息", acks, a.Topic, a.Count)}
	if a.Size > 0 {
		lines = fmt.Sprintf("seq -f '%%0%dg' %d", a.Size, a.Count)
		words.en, words.zh = fmt.Sprintf("%s, %d bytes each", words.en, a.Size), fmt.Sprintf("%s，每条 %d 字节", words.zh, a.Size)
	}
	words.command = fmt.Sprintf("%s | kcat -b %s -P -t %s -X acks=%s", lines, KafkaPlaceholder, a.Topic, acks)
	if a.ExpectError != "" {
		words.en, words.zh = words.en+", and see it refused: "+a.ExpectError, words.zh+"，看到它被拒绝："+a.ExpectError
	}
	return words
}

func (a *KafkaConsume) told() told {
	if a.Group == "" {
		return told{
			fmt.Sprintf("Read %s of %s without a group", counted(a.Count, "record"), a.Topic), fmt.Sprintf("不用消费者组，读取 %s 的 %d 条消息", a.Topic, a.Count),
			fmt.Sprintf("kcat -b %s -C -t %s -o beginning -c %d", KafkaPlaceholder, a.Topic, a.Count),
		}
	}
	return told{
		fmt.Sprintf("Read %s of %s as the group %s, and commit", counted(a.Count, "record"), a.Topic, a.Group),
		fmt.Sprintf("以消费者组 %s 读取 %s 的 %d 条消息并提交", a.Group, a.Topic, a.Count),
		fmt.Sprintf("kafka-console-consumer.sh%s --topic %s --group %s --from-beginning --max-messages %d", kafkaServer, a.Topic, a.Group, a.Count),
	}
}

func (a *KafkaJoin) told() told {
	words := told{en: fmt.Sprintf("Start the consumer %s in the group %s on %s", a.As, a.Group, a.Topic), zh: fmt.Sprintf("在消费者组 %s 里启动消费者 %s，订阅 %s", a.Group, a.As, a.Topic)}
	static := ""
	if a.Instance != "" {
		words.en, words.zh = words.en+", as the static member "+a.Instance, words.zh+"，作为静态成员 "+a.Instance
		static = " -X group.instance.id=" + a.Instance
	}
	words.command = fmt.Sprintf("kcat -b %s -G %s -X auto.offset.reset=earliest%s -X client.id=%s %s", KafkaPlaceholder, a.Group, static, a.As, a.Topic)
	return words
}

func (a *PulsarTopic) told() told {
	return told{"Delete the Pulsar topic " + a.Topic, "删除 Pulsar topic " + a.Topic, pulsarAdmin + " topics delete --force " + a.Topic}
}

func (a *PulsarCreateTopic) told() told {
	if a.Partitions == 0 {
		return told{"Create the Pulsar topic " + a.Topic, "创建 Pulsar topic " + a.Topic, pulsarAdmin + " topics create " + a.Topic}
	}
	return told{
		fmt.Sprintf("Create the partitioned Pulsar topic %s: %s", a.Topic, counted(a.Partitions, "partition")), fmt.Sprintf("创建分区的 Pulsar topic %s：%d 个分区", a.Topic, a.Partitions),
		fmt.Sprintf(pulsarAdmin+" topics create-partitioned-topic --partitions %d %s", a.Partitions, a.Topic),
	}
}

func (a *PulsarSubscribe) told() told {
	return told{
		fmt.Sprintf("Create the subscription %s on %s", a.Subscription, a.Topic), fmt.Sprintf("在 %s 上建立订阅 %s", a.Topic, a.Subscription),
		fmt.Sprintf(pulsarAdmin+" topics create-subscription --subscription %s --messageId earliest %s", a.Subscription, a.Topic),
	}
}

func (a *PulsarProduce) told() told {
	return told{
		fmt.Sprintf("Publish %s to %s", counted(a.Count, "message"), a.Topic), fmt.Sprintf("向 %s 发布 %d 条消息", a.Topic, a.Count),
		fmt.Sprintf("%s produce %s -m order -n %d", pulsarClient, a.Topic, a.Count),
	}
}

func (a *PulsarConsume) told() told {
	words := told{
		fmt.Sprintf("Receive and acknowledge %s on the subscription %s", counted(a.Count, "message"), a.Subscription), fmt.Sprintf("在订阅 %s 上接收并确认 %d 条消息", a.Subscription, a.Count),
		fmt.Sprintf("%s consume %s -s %s -n %d", pulsarClient, a.Topic, a.Subscription, a.Count),
	}
	if a.NoAck {
		words.en = fmt.Sprintf("Receive %s on the subscription %s without acknowledging them", counted(a.Count, "message"), a.Subscription)
		words.zh, words.command = fmt.Sprintf("在订阅 %s 上接收 %d 条消息，但不确认", a.Subscription, a.Count), ""
	}
	return words
}

func (a *PulsarUnload) told() told {
	return told{"Unload " + a.Topic + ": its owner gives it up", "unload " + a.Topic + "：让 owner 放弃它", pulsarAdmin + " topics unload " + a.Topic}
}

func (a *PulsarUnloadBundle) told() told {
	return told{"Unload the bundle " + a.Bundle + ": its owner gives up every topic in it", "unload bundle " + a.Bundle + "：owner 放弃其中的全部 topic",
		pulsarAdmin + " namespaces unload --bundle " + a.Bundle + " " + a.Namespace}
}

func (a *EnsembleSet) told() told {
	return told{"Set the znode " + a.Path + " to " + a.Data + "; where there is none, create it", "把 znode " + a.Path + " 设为 " + a.Data + "（没有就先创建）", zookeeper + " set " + a.Path + " " + a.Data}
}

func (a *EnsembleDelete) told() told {
	return told{"Delete the znode " + a.Path, "删除 znode " + a.Path, zookeeper + " deleteall " + a.Path}
}

func (a *EnsembleOpen) told() told {
	words, lines := told{en: "Open the session " + a.As, zh: "打开会话 " + a.As}, ""
	if a.Ephemeral != "" {
		words.en, words.zh = words.en+" and create the ephemeral znode "+a.Ephemeral, words.zh+"，创建临时节点 "+a.Ephemeral
		lines += "echo create -e " + a.Ephemeral + "; "
	}
	if a.Watch != "" {
		words.en, words.zh = words.en+" and watch "+a.Watch, words.zh+"，对 "+a.Watch+" 设置 watch"
		lines += "echo get -w " + a.Watch + "; "
	}
	words.command = "{ " + lines + "cat; } | " + zookeeper // the session lasts until Ctrl-D
	return words
}

func (v *Victim) told(en, zh, verb string) told {
	if v.Node == "" {
		return told{fmt.Sprintf(en, chosenThen.en), fmt.Sprintf(zh, chosenThen.zh), ""}
	}
	return told{fmt.Sprintf(en, v.Node), fmt.Sprintf(zh, v.Node), "curl -X POST " + PagePlaceholder + "/api/v1/nodes/" + v.Node + "/" + verb}
}

// chosenThen stands for the name of a node that an expression picks when the step is done: it would tell a student nothing.
var chosenThen = told{en: "the one that the task names, as the cluster stands then", zh: "任务所指的那一个，由当时集群的状态决定"}

func (a *NodeKill) told() told {
	return a.Victim.told("Crash a node: %s", "让节点崩溃：%s", "kill")
}
func (a *NodeStop) told() told {
	return a.Victim.told("Stop a node in order: %s", "正常停止节点：%s", "stop")
}
func (a *NodeStart) told() told {
	return a.Victim.told("Start a node: %s", "启动节点：%s", "start")
}
func (a *NodePause) told() told {
	return a.Victim.told("Pause a node: %s", "暂停节点：%s", "pause")
}
func (a *NodeResume) told() told {
	return a.Victim.told("Resume a node: %s", "恢复节点：%s", "resume")
}

func (a *LinkSet) told() told {
	var names [2]told
	for i, end := range a.Between {
		if names[i] = (told{en: end.Node, zh: end.Node}); end.Node == "" {
			names[i] = told{en: "a node that is picked then", zh: "届时选定的节点"}
		}
	}
	en, zh := names[0].en+" and "+names[1].en, names[0].zh+" 与 "+names[1].zh
	if a.Cut {
		return told{"Cut the link between " + en, "切断 " + zh + " 之间的链路", ""}
	}
	return told{fmt.Sprintf("Delay the link between %s by %d ms", en, a.DelayMS), fmt.Sprintf("让 %s 之间的链路延迟 %d 毫秒", zh, a.DelayMS), ""}
}

func (*LinkHeal) told() told { return told{"Heal every link", "恢复全部链路", ""} }

func (a *Close) told() told { return told{"End " + a.Name, "结束 " + a.Name, ""} }

func (a *Wait) told() told { return told{"Wait", "等待", ""} }

func (a *KafkaCommit) told() told {
	return told{
		fmt.Sprintf("Set the offset of the group %s on %s-%d to %d", a.Group, a.Topic, a.Partition, a.Offset),
		fmt.Sprintf("把消费者组 %s 在 %s-%d 上的 offset 设为 %d", a.Group, a.Topic, a.Partition, a.Offset),
		fmt.Sprintf("kafka-consumer-groups.sh%s --group %s --topic %s:%d --reset-offsets --to-offset %d --execute", kafkaServer, a.Group, a.Topic, a.Partition, a.Offset),
	}
}

// Says puts what the action does into words.
func (a Action) Says(language string) string {
	does, _ := a.tell(language)
	return does
}
