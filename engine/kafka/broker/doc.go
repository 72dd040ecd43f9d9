// Package broker is a Kafka-mode node: it registers in the ensemble, serves clients and other brokers through the reactor, keeps the
// replicas that the controller gives it, and runs the controller and the group coordinators when they fall to it.
//
//	reactor/      network layer: acceptor, processors, request queue, handlers, purgatory
//	interbroker/  one broker asks another
//	this package  replicas on their logs, fetchers, one file a request kind (produce.go, fetch.go, list_offsets.go …)
//
// The decisions about high watermark, ISR, truncation and damaged logs are in the pure package kafka/replica.
package broker
