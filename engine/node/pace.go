package node

import (
	"fmt"
	"time"
)

// Pace says how long the nodes wait for each other before they act.
type Pace string

const (
	// Classroom reacts to a crash within a few seconds, so that a lesson can watch it.
	Classroom Pace = "classroom"
	// Production waits as long as the real systems do by default.
	Production Pace = "production"
)

func (p Pace) validate() error {
	switch p {
	case Classroom, Production:
		return nil
	}
	return fmt.Errorf("pace %q is neither %s nor %s", p, Classroom, Production)
}

// timeouts are what a pace sets.
type timeouts struct {
	tickTime            time.Duration // ZooKeeper's tickTime: sessions last 2 to 20 of them
	electionTimeout     time.Duration // of the ensemble
	heartbeatInterval   time.Duration // of the ensemble's leader
	kafkaSession        time.Duration // zookeeper.session.timeout.ms
	pulsarSession       time.Duration // zooKeeperSessionTimeoutMillis of Pulsar-mode brokers
	bookieSession       time.Duration // zkTimeout of bookies
	bookieDiskCheck     time.Duration // diskCheckInterval of bookies
	replicaLagMax       time.Duration // replica.lag.time.max.ms
	groupInitialDelay   time.Duration // group.initial.rebalance.delay.ms
	shutdownBackoff     time.Duration // controlled.shutdown.retry.backoff.ms
	lostBookieRecovery  time.Duration // lostBookieRecoveryDelay
	openLedgerGrace     time.Duration // openLedgerRereplicationGracePeriod
	leaderRebalance     time.Duration // leader.imbalance.check.interval.seconds
	retentionCheck      time.Duration // log.retention.check.interval.ms
	offsetsPartitions   int           // offsets.topic.num.partitions
	pulsarInactiveTopic time.Duration // brokerDeleteInactiveTopicsMaxInactiveDurationSeconds
	ledgerEntries       int64         // managedLedgerMaxEntriesPerLedger
	ledgerRollover      time.Duration // managedLedgerMinLedgerRolloverTimeMinutes
	offloadDeletionLag  time.Duration // managedLedgerOffloadDeletionLagMs
}

// Sources of the production column: Kafka 3.9, Pulsar 4.0, BookKeeper 4.17 and ZooKeeper 3.8 defaults.
func (p Pace) timeouts() timeouts {
	if p == Production {
		return timeouts{
			tickTime:            2 * time.Second,
			electionTimeout:     time.Second,
			heartbeatInterval:   200 * time.Millisecond,
			kafkaSession:        18 * time.Second,
			pulsarSession:       30 * time.Second,
			bookieSession:       10 * time.Second,
			bookieDiskCheck:     10 * time.Second,
			replicaLagMax:       30 * time.Second,
			groupInitialDelay:   3 * time.Second,
			shutdownBackoff:     5 * time.Second,
			lostBookieRecovery:  0,
			openLedgerGrace:     30 * time.Second,
			leaderRebalance:     5 * time.Minute,
			retentionCheck:      5 * time.Minute,
			offsetsPartitions:   50,
			pulsarInactiveTopic: time.Minute,
			ledgerEntries:       50_000,
			ledgerRollover:      10 * time.Minute,
			offloadDeletionLag:  4 * time.Hour,
		}
	}
	return timeouts{
		tickTime:            time.Second,
		electionTimeout:     300 * time.Millisecond,
		heartbeatInterval:   75 * time.Millisecond,
		kafkaSession:        4 * time.Second,
		pulsarSession:       4 * time.Second,
		bookieSession:       4 * time.Second,
		bookieDiskCheck:     time.Second,
		replicaLagMax:       5 * time.Second,
		groupInitialDelay:   0,
		shutdownBackoff:     200 * time.Millisecond, // when all brokers leave at once, nobody can take the partitions
		lostBookieRecovery:  5 * time.Second,        // so that one sees what is under-replicated
		openLedgerGrace:     time.Minute,            // who tries things out does not write all the time
		retentionCheck:      2 * time.Second,        // old segments go while one watches
		leaderRebalance:     10 * time.Second,       // a broker that was started again leads again while one watches
		offsetsPartitions:   12,
		pulsarInactiveTopic: -1,
		ledgerEntries:       10_000, // so that a ledger fills up while one watches
		ledgerRollover:      5 * time.Second,
		offloadDeletionLag:  20 * time.Second, // so that one sees a ledger in both places, and then in one
	}
}
