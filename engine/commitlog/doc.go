// Package commitlog is the shared log core: an append-only sequence of frames in segment files. A Kafka-mode partition replica, a
// bookie's journal and entry log, and the ensemble's Raft log are all one of these. The log knows bytes and offsets, neither Kafka
// nor Pulsar: a [Framing] tells it how to find a frame's length, offsets, time and checksum in its header.
//
// One goroutine appends and truncates (the owner); any number read at the same time and never make the owner wait.
package commitlog
