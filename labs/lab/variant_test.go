package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
)

func TestEveryStudentHasValuesOfTheirOwn(t *testing.T) {
	load := func(seed lab.Seed) *lab.Lab {
		loaded, err := lab.Load(catalogue.Files, "01-first-messages", seed)
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	if plain := load(nil); plain.Drawn["topic"] != "orders" || plain.Drawn["records"] != "10" {
		t.Errorf("who works alone has %v", plain.Drawn)
	}
	topics := map[string]bool{}
	for i := range 40 {
		seed := lab.SeedOf("class", fmt.Sprint("student ", i), "01-first-messages")
		drawn := load(seed)
		if again := load(seed); again.Drawn["topic"] != drawn.Drawn["topic"] || again.Drawn["records"] != drawn.Drawn["records"] {
			t.Fatalf("%v, then %v", drawn.Drawn, again.Drawn)
		}
		topic := drawn.Drawn["topic"]
		if topics[topic] || !strings.HasPrefix(topic, "orders-") || !strings.Contains(drawn.Tasks[0].Title["en"], topic) || !strings.Contains(drawn.Body["zh"], topic) {
			t.Errorf("student %d: topic %s", i, topic)
		}
		topics[topic] = true
	}
	if load(lab.SeedOf("one", "ada", "01-first-messages")).Drawn["topic"] == load(lab.SeedOf("two", "ada", "01-first-messages")).Drawn["topic"] {
		t.Error("two classes give the same values")
	}
}
