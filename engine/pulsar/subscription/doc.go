// Package subscription decides who gets which entry of a topic, and when again: the dispatch policies of Pulsar's four subscription
// types, the consumers' permits, what is pending with whom, what is to be replayed, and how often it was. It is pure: a [State] is told
// what happened and answers with what is to be done; the broker reads ledgers, sends frames and stores cursors.
//
// An entry that was read takes one of these ways:
//
//	            permits, the key's turn
//	read ──────────────────────────────► pending with a consumer ──ack──► gone
//	  │                                        │
//	  │ no permits, key busy,                  │ nack, consumer left
//	  │ not due yet                            ▼
//	  └──────────────────────────────► replay (in order) ──► read again
//
// Exclusive and Failover subscriptions know no single redelivery: the active consumer gets the log from the cursor's mark-delete
// position on, again and in order (a rewind).
package subscription
