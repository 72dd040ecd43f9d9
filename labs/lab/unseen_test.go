package lab

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"twinlog/labs/observe"
)

func TestAClusterThatCannotBeLookedAtIsToldInWords(t *testing.T) {
	refused := errors.New("list end offsets: connection refused")
	asked := fmt.Errorf("the condition could not be looked at: %w", refused)
	nodes := func(first, second, third string) observe.Trace {
		return observe.Trace{Nodes: map[string]string{"kafka-1": first, "kafka-2": second, "kafka-3": third, "bookie-1": "killed"}}
	}
	for name, each := range map[string]struct {
		world  observe.World
		en, zh string
	}{
		"one has died":              {observe.World{KafkaError: refused, Trace: nodes("running", "killed", "running")}, "kafka-2 is not running, and the other", "kafka-2 没有运行"},
		"two have died":             {observe.World{KafkaError: refused, Trace: nodes("killed", "killed", "running")}, "kafka-1, kafka-2 are not running", "kafka-1、kafka-2 没有运行"},
		"all have died":             {observe.World{KafkaError: refused, Trace: nodes("killed", "stopped", "killed")}, "No broker of Kafka-mode is running. Start one", "Kafka 模式没有一个 broker 在运行"},
		"none has died":             {observe.World{KafkaError: refused, Trace: nodes("running", "running", "running")}, "Not all of Kafka-mode has answered", "Kafka 模式此刻没有全部答复"},
		"something else went wrong": {observe.World{Trace: nodes("killed", "running", "running")}, "the condition could not be looked at", "the condition could not be looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			for language, begins := range map[string]string{"en": each.en, "zh": each.zh} {
				said := unseen(asked, each.world, language)
				if !strings.HasPrefix(said, begins) {
					t.Errorf("in %s: %q, want it to begin with %q", language, said, begins)
				}
				if !strings.Contains(said, "connection refused") {
					t.Errorf("in %s: %q keeps the cause to itself", language, said)
				}
			}
		})
	}
}

func TestAVerdictThatCouldNotBeGivenSpeaksTheReadersLanguage(t *testing.T) {
	refused := errors.New("connection refused")
	world := observe.World{KafkaError: refused, Trace: observe.Trace{Nodes: map[string]string{"kafka-1": "killed", "kafka-2": "running"}}}
	condition, err := Compile(`kafka.brokers == 3`)
	if err != nil {
		t.Fatal(err)
	}
	task := &Task{ID: "all", Expected: Text{"en": "three", "zh": "三个"}}
	task.programs.condition = condition
	l := &Lab{Tasks: []*Task{task}}
	for language, want := range map[string]string{"en": "kafka-1 is not running", "zh": "kafka-1 没有运行"} {
		verdict := l.Check(world, Standing{}, language)[0]
		if verdict.Verdict != Unknown || !strings.HasPrefix(verdict.Observed, want) {
			t.Errorf("in %s: %s, %q; want %s, %q", language, verdict.Verdict, verdict.Observed, Unknown, want)
		}
	}
}
