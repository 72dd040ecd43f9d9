package situation

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/world"
)

// links are the links of a classroom without nodes.
type links struct {
	Control
	fabric *fabric.Fabric
	broken string // no link to this node can be set
}

func (l *links) Nodes() []cluster.NodeStatus { return nil }

func (l *links) Links() (rules []cluster.LinkRule) {
	for _, rule := range l.fabric.Links() {
		rules = append(rules, cluster.LinkRule(rule))
	}
	return rules
}

func (l *links) SetLink(from, to string, link fabric.Link) error {
	if to == l.broken {
		return errors.New("it does not answer")
	}
	return l.fabric.SetLink(from, to, link)
}

// TestACutGivesBackTheRulesThatItFound: the user's own rules are there again after a situation, and it heals no more than it has cut.
func TestACutGivesBackTheRulesThatItFound(t *testing.T) {
	for name, own := range map[string][]cluster.LinkRule{
		"none":     nil,
		"one slow": {{From: "a", To: "b", Link: fabric.Link{Delay: time.Second}}},
		"one cut":  {{From: "a", To: "b", Link: fabric.Link{Delay: time.Second}}, {From: "b", To: "a", Link: fabric.Link{Cut: true, Jitter: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			control := &links{fabric: fabric.NewMemory()}
			for _, rule := range own {
				check(t, control.SetLink(rule.From, rule.To, rule.Link))
			}
			s := &stage{player: New(Config{Control: control})}
			check(t, s.cut("a", "b"))
			for _, rule := range control.Links() {
				if !rule.Link.Cut {
					t.Errorf("not cut: %+v", rule)
				}
			}
			check(t, s.mend("a", "b"))
			for _, rule := range control.Links() { // the script goes on, whatever the user had cut
				if rule.Link.Cut {
					t.Errorf("still cut: %+v", rule)
				}
			}
			s.tidy()
			if got := control.Links(); !slices.Equal(got, own) {
				t.Errorf("left %+v, found %+v", got, own)
			}
		})
	}
}

// TestHalfACutIsTakenBack: when the second direction cannot be cut, the first does not stay so.
func TestHalfACutIsTakenBack(t *testing.T) {
	control := &links{fabric: fabric.NewMemory(), broken: "a"}
	s := &stage{player: New(Config{Control: control})}
	if err := s.cut("a", "b"); err == nil {
		t.Fatal("it was cut")
	}
	s.tidy()
	if left := control.Links(); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

// TestASituationThatIsOvertakenBeginsAgain: what was done is put right first, its steps wait again, and in the end it says so. Not for ever.
func TestASituationThatIsOvertakenBeginsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		overtaken int // so often
		begun     int
		message   string
	}{
		"never":       {0, 1, "Done."},
		"twice":       {2, 3, "Done. It had to begin again on the way: kafka-2 no longer leads orders."},
		"every time":  {1000, mostBeginnings, ""},
		"by a cancel": {1000, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			state := world.New()
			state.Ensemble.Leader = "ensemble-1"
			p := New(Config{Control: &links{}, World: func(context.Context) (*world.State, error) { return state, nil }})
			run := &Run{Names: map[string]string{}, Steps: []StepStatus{{State: StateWaiting}, {State: StateWaiting}}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun, undone, topics := 0, 0, map[string]bool{}
			overtaken := script{play: func(_ context.Context, s *stage) error {
				if run.Steps[0].State != StateWaiting || run.Steps[0].At != nil || len(run.Names) > 0 || undone != begun {
					t.Errorf("it begins with %+v; %d of %d beginnings are put right", run, undone, begun)
				}
				begun++
				s.later(func(context.Context) error { undone++; return nil })
				s.step()
				topics[s.ownTopic("orders")] = true
				s.name("leader", "kafka-2")
				s.name("topic", "orders")
				if name == "by a cancel" {
					cancel()
				}
				if begun <= c.overtaken {
					return leaderMoved
				}
				return nil
			}}
			began, err := p.playThrough(ctx, overtaken, run)
			if begun != c.begun || undone != begun || len(topics) != begun || (err == nil) != (c.message != "") {
				t.Errorf("begun %d times, with %d topics; put right %d times, %v", begun, len(topics), undone, err)
			}
			if got := began.tell(Text{EN: "Done."}).EN; err == nil && got != c.message {
				t.Errorf("it says %q, want %q", got, c.message)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestALedgerIsFilledNoFasterThanItGrowsOld: production's ledgers must be ten minutes old, and nobody wants ten minutes of full load.
func TestALedgerIsFilledNoFasterThanItGrowsOld(t *testing.T) {
	for name, c := range map[string]struct {
		limits administration.LedgerLimits
		want   int
	}{
		"classroom":  {administration.LedgerLimits{Entries: 10_000, Age: 5 * time.Second}, 3000},
		"production": {administration.LedgerLimits{Entries: 50_000, Age: 10 * time.Minute}, 126},
		"at once":    {administration.LedgerLimits{Entries: 100}, 151},
	} {
		if got := fillingRate(c.limits); got != c.want {
			t.Errorf("%s: %d messages a second, want %d", name, got, c.want)
		}
		if took := float64(c.limits.Entries) / float64(fillingRate(c.limits)); took > max(c.limits.Age.Seconds(), 5) {
			t.Errorf("%s: the entries alone take %v s", name, took)
		}
	}
	for _, s := range scripts {
		if s.ID == fullLedger.ID && s.patience <= longestLedger {
			t.Errorf("it gives up after %v, and waits for ledgers of %v", s.patience, longestLedger)
		}
	}
}
