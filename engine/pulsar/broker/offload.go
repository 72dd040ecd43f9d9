package broker

import (
	"context"
	"time"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// OffloadTopic begins to copy the sealed ledgers of a topic before a position to the medium, and returns at once.
func (b *Broker) OffloadTopic(ctx context.Context, name TopicName, before managedledger.Position) error {
	t, err := b.offloadable(ctx, name)
	if err != nil {
		return err
	}
	return t.log.Offload(ctx, before)
}

// OffloadStatus tells how the last offload of a topic that was asked for here goes. Another owner knows nothing of it.
func (b *Broker) OffloadStatus(ctx context.Context, name TopicName) (managedledger.OffloadStatus, error) {
	t, err := b.offloadable(ctx, name)
	if err != nil {
		return managedledger.OffloadStatus{}, err
	}
	return t.log.OffloadStatus(), nil
}

func (b *Broker) offloadable(ctx context.Context, name TopicName) (*topic, error) {
	t, err := b.existingTopic(ctx, name)
	if err == nil && t.log == nil {
		err = Refuse(ErrNotAllowed, "a non-persistent topic has nothing to offload")
	}
	return t, err
}

// offloadPolicy is what a namespace says of offloading; what it does not say, the broker does.
func (b *Broker) offloadPolicy(policies Policies) managedledger.OffloadPolicy {
	policy := managedledger.DefaultOffloadPolicy
	policy.DeletionLag = max(0, b.config.OffloadDeletionLag)
	if size := policies.known.OffloadThreshold; size != nil {
		policy.Size = *size
	}
	if seconds := policies.known.OffloadThresholdSeconds; seconds != nil && *seconds >= 0 {
		policy.Age = time.Duration(*seconds) * time.Second
	}
	if lag := policies.known.OffloadDeletionLag; lag != nil {
		policy.DeletionLag = time.Duration(*lag) * time.Millisecond
	}
	return policy
}

// offloadedLedgers are those of a topic's ledgers that are on the medium, for the trace.
func offloadedLedgers(managedLedger string, ledgers []managedledger.LedgerInfo) (found []trace.PulsarOffloadedLedger) {
	for _, info := range ledgers {
		if !info.Offloaded() {
			continue
		}
		found = append(found, trace.PulsarOffloadedLedger{
			ManagedLedger: managedLedger, Ledger: info.Ledger, Entries: info.Entries, Bytes: info.Bytes, Medium: info.Offload.Driver,
			Object: info.Object(managedLedger), DeletedFromBookies: info.Offload.DeletedFromBookies,
		})
	}
	return found
}
