package world

import "twinlog/engine/trace"

func (s *State) applySubscription(event trace.Event) {
	switch event := event.(type) {
	case trace.PulsarConsumerAttached:
		if subscription := s.subscriptionOrNew(event.Topic, event.Subscription); subscription != nil {
			subscription.Type = event.Type
			subscription.Consumers[event.Consumer] = &Consumer{Name: event.Name, Client: event.Client, LastDispatched: nowhere}
		}
	case trace.PulsarConsumerDetached:
		if subscription := s.subscription(event.Topic, event.Subscription); subscription != nil {
			delete(subscription.Consumers, event.Consumer)
			if subscription.Active == event.Consumer {
				subscription.Active = ""
			}
		}
	case trace.PulsarActiveConsumerChanged:
		if subscription := s.subscriptionOrNew(event.Topic, event.Subscription); subscription != nil {
			subscription.Active = event.Consumer
		}
	case trace.PulsarDispatched:
		if subscription := s.subscription(event.Topic, event.Subscription); subscription != nil {
			if consumer := subscription.Consumers[event.Consumer]; consumer != nil {
				consumer.LastDispatched = Position{Ledger: event.Ledger, Entry: event.Entry}
				consumer.Messages += int64(event.Messages)
			}
		}
	case trace.PulsarCursorMoved:
		if subscription := s.subscriptionOrNew(event.Topic, event.Subscription); subscription != nil {
			subscription.MarkDelete = Position{Ledger: event.Ledger, Entry: event.Entry}
			subscription.Backlog = event.Backlog
		}
	case trace.PulsarSubscriptionMeasured:
		if subscription := s.subscriptionOrNew(event.Topic, event.Subscription); subscription != nil {
			subscription.measured(event)
		}
	case trace.PulsarSubscriptionDeleted:
		if topic := s.Pulsar.Topics[event.Topic]; topic != nil {
			delete(topic.Subscriptions, event.Subscription)
		}
	}
}

func (subscription *Subscription) measured(event trace.PulsarSubscriptionMeasured) {
	subscription.MarkDelete = Position{Ledger: event.Ledger, Entry: event.Entry}
	subscription.Read = Position{Ledger: event.ReadLedger, Entry: event.ReadEntry}
	subscription.Backlog = event.Backlog
	subscription.Acknowledged = make([]EntryRange, 0, len(event.Acknowledged))
	for _, r := range event.Acknowledged {
		subscription.Acknowledged = append(subscription.Acknowledged, EntryRange(r))
	}
	subscription.AcknowledgedEntries = event.AcknowledgedEntries
	subscription.Pending, subscription.Replay, subscription.Delayed = event.Pending, event.Replay, event.Delayed
	subscription.Redelivered = event.Redelivered
	for _, one := range event.Consumers {
		if consumer := subscription.Consumers[one.Consumer]; consumer != nil {
			consumer.Permits, consumer.Unacked = one.Permits, one.Unacked
		}
	}
}

func (s *State) subscription(topic, name string) *Subscription {
	known := s.Pulsar.Topics[topic]
	if known == nil {
		return nil
	}
	return known.Subscriptions[name]
}

// subscriptionOrNew makes the subscription when its topic is there without it.
func (s *State) subscriptionOrNew(topic, name string) *Subscription {
	known := s.Pulsar.Topics[topic]
	if known == nil {
		return nil
	}
	subscription := known.Subscriptions[name]
	if subscription == nil {
		subscription = &Subscription{MarkDelete: nowhere, Read: nowhere, Acknowledged: []EntryRange{}, Consumers: map[string]*Consumer{}}
		known.Subscriptions[name] = subscription
	}
	return subscription
}
