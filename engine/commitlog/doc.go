// Package commitlog is the shared log core: an append-only sequence of frames in segment files. A Kafka-mode partition replica, a
// bookie's journal and entry log, and the ensemble's Raft log are all one of these. The log knows bytes and offsets, neither Kafka
// nor Pulsar: a [Framing] tells it how to find a frame's length, offsets, time and checksum in its header.
//
// One goroutine appends and truncates (the owner); any number read at the same time and never make the owner wait. Where many want to
// append, a [Committer] is the owner and lets them share writes and syncs.
//
//	append.go, log.go           the way in, and what makes it durable
//	read.go, section.go         the way out: sections of files, which go to a socket by sendfile
//	view.go                     what a reader has of a segment while the owner goes on
//	preallocate.go              zeros ahead of the end, which make syncs cheaper
//	recovery.go, durable.go     what a crash left: a torn tail is cut, damage to what was synced is reported
//	accept_loss.go              damage is cut, for an owner that gets the frames again from somebody else
//	frames.go, check.go         every frame is checked each time it is read: damage is found and never served
//	truncate.go, retention.go   what goes at the end, what goes at the front
//	rewrite.go                  compaction's primitive: a run of sealed segments replaced by one
//	files.go                    a bound on open files, for one log or for all of a node
//	tier.go, moved.go           sealed segments on another medium
//	FORMAT.md                   all of it in bytes
package commitlog
