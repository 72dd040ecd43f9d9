package situation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
)

// links are the links of a classroom without nodes.
type links struct {
	Control
	fabric *fabric.Fabric
	broken string // no link to this node can be set
}

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
