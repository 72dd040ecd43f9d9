package workload

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDefaults(t *testing.T) {
	spec, err := Spec{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{Engine: "both", Topic: "demo", Partitions: 3, ReplicationFactor: 3, MessagesPerSecond: 20, MessageBytes: 100, Acks: "all",
		Producers: 1, Consumers: 1, Group: "demo", SubscriptionType: "Shared", Strategy: "cooperative-sticky"}
	if spec != want {
		t.Errorf("got %+v", spec)
	}
}

func TestSpecsThatCannotRun(t *testing.T) {
	for _, spec := range []Spec{
		{Engine: "rabbit"}, {Topic: "a/b"}, {Topic: ".."}, {Partitions: -2}, {Partitions: 101}, {ReplicationFactor: -1}, {MessagesPerSecond: 20_001},
		{MessagesPerSecond: -1}, {MessageBytes: 29}, {MessageBytes: 300_000}, {Keys: -1}, {Acks: "2"}, {Producers: 17}, {Consumers: -2}, {Consumers: 17},
		{Group: "a b"}, {SubscriptionType: "shared"}, {MaxMessages: -1},
		{Strategy: "fair"},
	} {
		if _, err := spec.withDefaults(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	for _, spec := range []Spec{{MessageBytes: 30}, {Partitions: NoPartitions}, {Consumers: NoConsumers}, {MaxMessages: 1 << 40}, {Acks: "0"}} {
		if _, err := spec.withDefaults(); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

func TestMessageValue(t *testing.T) {
	value := messageValue("7f3a9c21", 12, 40)
	if string(value) != "twinlog 7f3a9c21 000000000012 .........." {
		t.Errorf("%q", value)
	}
	if side, number, ok := readValue(value); !ok || side != "7f3a9c21" || number != 12 {
		t.Errorf("read back: %q %d %v", side, number, ok)
	}
	for _, foreign := range []string{"", "hello", "twinlog 7f3a9c21 00000000001x ....", "twinlog 7f3a9c21 -00000000012 .", "twinlog 7f3a9c21x000000000012 ."} {
		if _, _, ok := readValue([]byte(foreign)); ok {
			t.Errorf("%q is taken for a message of ours", foreign)
		}
	}
}

func FuzzReadValue(f *testing.F) {
	f.Add(messageValue("7f3a9c21", 12, 40))
	f.Add([]byte("twinlog "))
	f.Fuzz(func(t *testing.T, value []byte) {
		if side, number, ok := readValue(value); ok && (len(side) != sideDigits || number < 0) {
			t.Errorf("%q %d", side, number)
		}
	})
}

// TestDeliveredAgreesWithASet delivers numbers nearly in order, some twice, and compares with a plain set.
func TestDeliveredAgreesWithASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d delivered
		set := map[int64]bool{}
		at := int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "runs") {
			at = max(0, at+int64(rapid.IntRange(-5000, 5000).Draw(t, "jump")))
			for range rapid.IntRange(1, 6000).Draw(t, "length") {
				if first := d.note(at); first == set[at] {
					t.Fatalf("number %d: first = %v", at, first)
				}
				set[at] = true
				at++
			}
		}
		if d.count != int64(len(set)) {
			t.Fatalf("%d counted, %d delivered", d.count, len(set))
		}
	})
}

func TestDeliveredStaysSmall(t *testing.T) {
	var d delivered
	for number := int64(1); number < 30_000_000; number += pageNumbers / 2 { // holes everywhere
		d.note(number)
	}
	if len(d.pages) > pagesKept {
		t.Errorf("%d pages", len(d.pages))
	}
	if d.note(5) {
		t.Error("a message that far behind counts as new")
	}
}

func TestPaceKeepsTheRateAndForgetsALongWait(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	begin := now
	p := newPace(now, 100, 2) // this producer: 50 a second
	sent := 0
	for now.Sub(begin) < 10*time.Second {
		now = now.Add(p.delay(now))
		sent++
	}
	if sent < 499 || sent > 502 {
		t.Errorf("%d messages in 10 s, want 500", sent)
	}
	now = now.Add(time.Minute)
	burst := 0
	for p.delay(now) == 0 {
		burst++
	}
	if burst < 50 || burst > 52 {
		t.Errorf("%d messages at once after a minute of waiting, want a second's worth", burst)
	}
}
