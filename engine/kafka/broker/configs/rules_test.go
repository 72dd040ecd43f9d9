package configs

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestValidateTopic(t *testing.T) {
	rules, err := NewRules(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, good := range []map[string]string{
		nil, {"retention.ms": "-1"}, {"cleanup.policy": "compact,delete"}, {"min.cleanable.dirty.ratio": "0.1"}, {"preallocate": "TRUE"},
	} {
		if err := rules.ValidateTopic(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, bad := range []map[string]string{
		{"no.such.key": "1"}, {"retention.ms": "soon"}, {"retention.ms": "-2"}, {"cleanup.policy": "forget"}, {"preallocate": "yes"},
		{"segment.bytes": "99999999999"}, {"min.insync.replicas": "0"}, {"min.cleanable.dirty.ratio": "2"},
	} {
		if err := rules.ValidateTopic(bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestPrecedence(t *testing.T) {
	rules, err := NewRules(map[string]string{"min.insync.replicas": "2"})
	if err != nil {
		t.Fatal(err)
	}
	find := func(entries []Entry, name string) Entry {
		for _, entry := range entries {
			if entry.Definition.Name == name {
				return entry
			}
		}
		t.Fatalf("%s is not listed", name)
		return Entry{}
	}
	for _, c := range []struct {
		topic, own, defaults map[string]string
		value                string
		source               kmsg.ConfigSource
		synonyms             int
	}{
		{nil, nil, nil, "2", kmsg.ConfigSourceStaticBrokerConfig, 2},
		{nil, nil, map[string]string{"min.insync.replicas": "3"}, "3", kmsg.ConfigSourceDynamicDefaultBrokerConfig, 3},
		{nil, map[string]string{"min.insync.replicas": "4"}, map[string]string{"min.insync.replicas": "3"}, "4", kmsg.ConfigSourceDynamicBrokerConfig, 4},
		{map[string]string{"min.insync.replicas": "1"}, nil, nil, "1", kmsg.ConfigSourceDynamicTopicConfig, 3},
	} {
		entry := find(rules.Topic(c.topic, c.own, c.defaults), "min.insync.replicas")
		if entry.Value != c.value || entry.Source != c.source || len(entry.Synonyms) != c.synonyms {
			t.Errorf("%+v: got %+v", c, entry)
		}
	}
	if entry := find(rules.Topic(nil, nil, nil), "retention.ms"); entry.Value != "604800000" || entry.Source != kmsg.ConfigSourceDefaultConfig {
		t.Errorf("a default is %+v", entry)
	}
	if settings := rules.Settings(map[string]string{"cleanup.policy": "compact"}); settings.MinISR != 2 || !settings.Compacted || settings.DeletesOld || settings.AfterMaxMS != -1 {
		t.Errorf("settings are %+v", settings)
	}
	if _, err := NewRules(map[string]string{"no.such.key": "1"}); err == nil {
		t.Error("an unknown static key was accepted")
	}
	if err := rules.ValidateBroker(map[string]string{"broker.id": "3"}, false); err == nil {
		t.Error("a read-only broker key was accepted")
	}
}
