package lab_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

func TestEveryLabInTheCatalogueLoads(t *testing.T) {
	labs, err := lab.LoadAll(catalogue.Files)
	if err != nil {
		t.Fatal(err)
	}
	if len(labs) == 0 || labs[0].ID != "01-first-messages" {
		t.Fatalf("%d labs", len(labs))
	}
	for _, l := range labs {
		for language, html := range l.Body {
			if strings.Contains(html, "**") {
				t.Errorf("%s/%s.md shows the reader asterisks: ** must not stand between punctuation and a letter", l.ID, language)
			}
		}
	}
}

func world() observe.World {
	return observe.World{
		Kafka:  observe.Kafka{Topics: map[string]observe.KafkaTopic{}, Groups: map[string]observe.KafkaGroup{}},
		Pulsar: observe.Pulsar{Topics: map[string]observe.PulsarTopic{}},
	}
}

func verdictsOf(t *testing.T, observed observe.World, failures map[string]int, language string) map[string]lab.Verdict {
	t.Helper()
	loaded, err := lab.Load(catalogue.Files, "01-first-messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]lab.Verdict{}
	for _, verdict := range loaded.Check(observed, lab.Standing{Failures: failures}, language) {
		verdicts[verdict.Task] = verdict
	}
	return verdicts
}

func TestAnUntouchedWorldFailsWithWhatIsThere(t *testing.T) {
	verdicts := verdictsOf(t, world(), nil, "en")
	for task, want := range map[string]lab.Verdict{
		"kafka-topic":       {Task: "kafka-topic", Verdict: lab.NotYet, Expected: "topic orders with 3 partitions, 3 replicas each", Observed: "no topic orders"},
		"kafka-produced":    {Task: "kafka-produced", Verdict: lab.Waiting, Expected: "at least 10 records below the high watermark"},
		"pulsar-subscribed": {Task: "pulsar-subscribed", Verdict: lab.NotYet, Expected: "at least 10 messages and a subscription readers", Observed: "messages: 0, no subscription readers"},
	} {
		got := verdicts[task]
		if got.Verdict != want.Verdict || got.Expected != want.Expected || got.Observed != want.Observed || got.Event != 0 || len(got.Hints) != 0 {
			t.Errorf("%s: %v, expected %q, observed %q, event %d, hints %q", task, got.Verdict, got.Expected, got.Observed, got.Event, got.Hints)
		}
	}
}

func TestTheDecidingEventAndHintsByAttempts(t *testing.T) {
	observed := world()
	observed.Kafka.Topics["orders"] = observe.KafkaTopic{Partitions: 1, Replicas: 1}
	observed.Events = []observe.Event{
		{N: 7, Kind: "kafka.topicCreated", Data: map[string]any{"topic": "orders"}},
		{N: 9, Kind: "kafka.topicCreated", Data: map[string]any{"topic": "others"}},
		{N: 11, Kind: "node.paused", Data: map[string]any{}},
	}
	// That the topic has other numbers is said at once; the first hint only at the second check.
	first := verdictsOf(t, observed, nil, "zh")["kafka-topic"]
	if first.Event != 7 || len(first.Hints) != 1 || !strings.Contains(first.Hints[0], "数目不对") || first.Observed != "1 个分区，每个分区 1 个副本" || first.In("en").Observed != "partitions: 1, replicas of each: 1" {
		t.Errorf("first check: event %d, %q, hints %q", first.Event, first.Observed, first.Hints)
	}
	second := verdictsOf(t, observed, map[string]int{"kafka-topic": 1}, "zh")["kafka-topic"]
	if len(second.Hints) != 2 || !strings.Contains(second.Hints[0], "默认值") {
		t.Errorf("second check: hints %q", second.Hints)
	}
}

func TestWhatIsWrongWithALabFileIsNamedWithItsLine(t *testing.T) {
	good, err := catalogue.Files.ReadFile("01-first-messages/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lineOf := func(text string) string {
		before, _, found := strings.Cut(string(good), text)
		if !found {
			t.Fatalf("the lab has no %q", text)
		}
		return strconv.Itoa(1 + strings.Count(before, "\n"))
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown field":        {"minutes:", "minuets:", "lab.yaml:4: unknown field"},
		"unknown name":         {`kafka.topics["${topic}"].records >= ${records}`, `kafka.topic["${topic}"].records >= ${records}`, "has no field topic"},
		"no bool":              {`kafka.topics["${topic}"].records >= ${records}`, `kafka.topics["${topic}"].records`, "expected bool"},
		"untold in a language": {"      zh: >-\n        string(kafka.topics[\"${topic}\"].records) + \" 条消息\"\n", "", "observed of kafka-produced has no text in zh"},
		"missing language":     {"      zh: 向 `${topic}` 写入至少 ${records} 条消息\n", "", "lab.yaml:" + lineOf("      en: Write at least") + ": title of kafka-produced has no text in zh"},
		"unknown need":         {"needs: [kafka-topic]", "needs: [kafka-topics]", "which is no earlier task"},
		"incomplete action":    {"kafka.produce: {topic: \"${topic}\", count: 20}", "kafka.produce: {topic: \"${topic}\"}", "kafka.produce needs topic and count"},
		"feedback of no task":  {"task: kafka-consumed, verdict", "task: consumed, verdict", `"notYet" of task "consumed"`},
		"two kinds of hint":    {"- after: 2\n", "- after: 2\n        idle: 1m\n", "one of the three"},
		"unknown variant":      {"title:\n", "# ${nobody}\ntitle:\n", "lab.yaml:1: ${nobody} is not one of the variants"},
		"expression's line":    {`kafka.topics["${topic}"].records >= ${records}`, `kafka.topics["${topic}"].recordings >= ${records}`, "lab.yaml:" + lineOf("    condition: >-\n      kafka.topics[\"${topic}\"].records >= ${records}") + ": task kafka-produced: condition: "},
		"hint with a command":  {"A topic's number of", "kafka-topics.sh --create does it. A topic's number of", "gives away the command"},
		"minutes out of range": {"minutes: 15", "minutes: 0", "lab.yaml:4: minutes is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(string(good), c.old, c.new, 1)
			if changed == string(good) {
				t.Fatal("nothing was changed")
			}
			files := fstest.MapFS{
				"01-first-messages/lab.yaml": {Data: []byte(changed)},
				"01-first-messages/en.md":    {Data: []byte("text")},
				"01-first-messages/zh.md":    {Data: []byte("text")},
			}
			_, err := lab.Load(files, "01-first-messages", nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "01-first-messages/lab.yaml") {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestATextNamesOnlyAddressesThatThereAre(t *testing.T) {
	good, err := catalogue.Files.ReadFile("01-first-messages/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"01-first-messages/lab.yaml": {Data: good},
		"01-first-messages/en.md":    {Data: []byte("kcat -b {{kafka}} -L")},
		"01-first-messages/zh.md":    {Data: []byte("kcat -b {{kafak}} -L")},
	}
	if _, err := lab.Load(files, "01-first-messages", nil); err == nil || !strings.Contains(err.Error(), "zh.md:1: {{kafak}} is not one of {{kafka}}") {
		t.Errorf("got %v", err)
	}
}

func TestBrokenLinesOfChineseLeaveNoGap(t *testing.T) {
	good, err := catalogue.Files.ReadFile("01-first-messages/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"01-first-messages/lab.yaml": {Data: good},
		"01-first-messages/en.md":    {Data: []byte("one line\nand another")},
		"01-first-messages/zh.md":    {Data: []byte("各自拿到\n全部消息，\n再看 broker\n做什么")},
	}
	loaded, err := lab.Load(files, "01-first-messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := loaded.Body["zh"]; !strings.Contains(got, "各自拿到全部消息，再看 broker") {
		t.Errorf("Chinese: %q", got)
	}
	if got := loaded.Body["en"]; !strings.Contains(got, "one line\nand another") {
		t.Errorf("English: %q", got)
	}
}
