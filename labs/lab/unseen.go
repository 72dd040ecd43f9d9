package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"twinlog/labs/observe"
)

// unseenCluster is a cluster that a check may fail to look at, and what its failure is called.
type unseenCluster struct {
	name    Text
	brokers string // how the names of its brokers begin
}

// unseen says in a language why a check could not look. In the first seconds after a broker's death its clients still ask the dead one, and
// so does a check, which is a client: that is what a student mostly sees, and it passes by itself. The error stands behind, for those who
// look for the cause.
func unseen(err error, world observe.World, language string) string {
	var cluster unseenCluster
	switch {
	case world.KafkaError != nil && errors.Is(err, world.KafkaError):
		cluster = unseenCluster{Text{"en": "Kafka-mode", "zh": "Kafka 模式"}, "kafka-"}
	case world.PulsarError != nil && errors.Is(err, world.PulsarError):
		cluster = unseenCluster{Text{"en": "Pulsar-mode", "zh": "Pulsar 模式"}, "pulsar-"}
	default:
		return err.Error()
	}
	running, away := 0, []string{}
	for _, node := range slices.Sorted(maps.Keys(world.Trace.Nodes)) {
		switch {
		case !strings.HasPrefix(node, cluster.brokers):
		case world.Trace.Nodes[node] == "running":
			running++
		default:
			away = append(away, node)
		}
	}
	var words string
	name := cluster.name.In(language)
	switch {
	case len(away) == 0 && language == "zh":
		words = fmt.Sprintf("%s此刻没有全部答复。过几秒再检查。", name)
	case len(away) == 0:
		words = fmt.Sprintf("Not all of %s has answered just now. Check again in a few seconds.", name)
	case running == 0 && language == "zh":
		words = fmt.Sprintf("%s没有一个 broker 在运行。先启动一个，再检查。", name)
	case running == 0:
		words = fmt.Sprintf("No broker of %s is running. Start one, then check again.", name)
	case language == "zh":
		words = fmt.Sprintf("%s 没有运行，其余 broker 需要几秒钟才能接手它的工作。过几秒再检查。", strings.Join(away, "、"))
	default:
		verb := "is"
		if len(away) > 1 {
			verb = "are"
		}
		words = fmt.Sprintf("%s %s not running, and the other brokers need a few seconds to take over. Check again in a few seconds.", strings.Join(away, ", "), verb)
	}
	if language == "zh" {
		return words + "（" + err.Error() + "）"
	}
	return words + " (" + err.Error() + ")"
}
