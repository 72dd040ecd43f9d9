package world

import (
	"slices"

	"twinlog/engine/trace"
)

func (s *State) applyKafkaGroup(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.KafkaGroupChanged:
		s.kafkaGroupChanged(s.brokerID(node), event)
	case trace.KafkaOffsetCommitted:
		s.kafkaGroup(event.Group, s.brokerID(node)).Offsets[event.KafkaPartition.String()] = event.Offset
	}
}

func (s *State) kafkaGroup(name string, coordinator int32) *KafkaGroup {
	group := s.Kafka.Groups[name]
	if group == nil {
		group = &KafkaGroup{Coordinator: coordinator, State: "Empty", Members: map[string]*KafkaGroupMember{}, Offsets: map[string]int64{}}
		s.Kafka.Groups[name] = group
	}
	return group
}

// kafkaGroupChanged: when a group is gone from a broker that no longer coordinates it, it lives on at the one that does.
func (s *State) kafkaGroupChanged(coordinator int32, event trace.KafkaGroupChanged) {
	if event.State == "Dead" {
		if group := s.Kafka.Groups[event.Group]; group != nil && group.Coordinator == coordinator {
			delete(s.Kafka.Groups, event.Group)
		}
		return
	}
	group := s.kafkaGroup(event.Group, coordinator)
	group.Coordinator, group.State, group.Generation = coordinator, event.State, event.Generation
	group.Strategy, group.Leader = event.Strategy, event.Leader
	group.Pending = event.Pending
	group.Members = make(map[string]*KafkaGroupMember, len(event.Members))
	for _, member := range event.Members {
		assigned := make([]string, 0, len(member.Assigned))
		for _, partition := range member.Assigned {
			assigned = append(assigned, partition.String())
		}
		slices.Sort(assigned)
		group.Members[member.ID] = &KafkaGroupMember{InstanceID: member.InstanceID, ClientID: member.ClientID, Joined: member.Joined, Assigned: assigned}
	}
}
