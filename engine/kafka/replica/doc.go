// Package replica decides what a broker does with one replica of a partition: how far the high watermark may go, who is in the ISR, where
// a follower has to cut its log, which batch of an idempotent producer is new. It is pure: events go in with the time they happened at,
// decisions come out, and the broker's driver appends, fetches and answers.
//
//	leader     Partition with RoleLeader: follows its followers' log ends, moves the high watermark, proposes ISR changes
//	follower   Partition with RoleFollower: takes over the leader's high watermark
//	branches   Epochs: which leader epoch wrote which offsets, so that two logs find the point where they part
//	producers  Producers: epochs and sequence numbers of idempotent producers
//
// The six numbers of a partition's log, in order: log start <= high watermark <= LEO; the last stable offset (at or below the high
// watermark); a consumer's committed offset and its position.
//
// Sources: Apache Kafka 3.9 (Partition, Replica, LeaderEpochFileCache, ProducerAppendInfo), KIP-101, KIP-279, KIP-497, KIP-595, KIP-966.
package replica
