// Package errorname makes the protocol's errors go by the names that Kafka gives them today: in the trace and so in the page and its story,
// in dumps, in logs, and in what client libraries say. kerr, whose errors all of these are, keeps the first name of error 6, which Kafka
// changed when followers came to serve fetches too (KIP-392). Who shows errors imports this package for its effect.
package errorname

import "github.com/twmb/franz-go/pkg/kerr"

func init() {
	kerr.NotLeaderForPartition.Message = "NOT_LEADER_OR_FOLLOWER"
	kerr.NotLeaderForPartition.Description = "This server is not the leader of that topic-partition, or has no replica of it."
}
