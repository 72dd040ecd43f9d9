package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
)

// apis are the requests that this package serves, in the versions of Apache Kafka 3.9 in ZooKeeper mode. Old versions of Produce and Fetch
// are in the list because clients tell a broker's abilities by it; the record formats that they carry are refused.
func (b *Broker) apis() []reactor.API {
	return []reactor.API{
		{Key: kmsg.Produce, Max: 11, Handle: b.handleProduce},
		{Key: kmsg.Fetch, Max: 17, Handle: b.handleFetch},
		{Key: kmsg.ListOffsets, Max: 9, Handle: b.handleListOffsets},
		{Key: kmsg.Metadata, Max: 12, Handle: b.handleMetadata},
		{Key: kmsg.LeaderAndISR, Max: 7, Handle: b.control.handle},
		{Key: kmsg.StopReplica, Max: 4, Handle: b.control.handle},
		{Key: kmsg.UpdateMetadata, Max: 8, Handle: b.control.handle},
		{Key: kmsg.ApiVersions, Max: 4, Handle: b.handleApiVersions},
		{Key: kmsg.DeleteRecords, Max: 2, Handle: b.handleDeleteRecords},
		{Key: kmsg.InitProducerID, Max: 5, Handle: b.handleInitProducerID},
		{Key: kmsg.OffsetForLeaderEpoch, Max: 4, Handle: b.handleOffsetForLeaderEpoch},
		{Key: kmsg.DescribeConfigs, Max: 4, Handle: b.handleDescribeConfigs},
		{Key: kmsg.DescribeLogDirs, Max: 4, Handle: b.handleDescribeLogDirs},
		{Key: kmsg.DescribeCluster, Max: 1, Handle: b.handleDescribeCluster},
		{Key: kmsg.DescribeProducers, Max: 0, Handle: b.handleDescribeProducers},
	}
}

// handleApiVersions lists what this broker serves.
func (b *Broker) handleApiVersions(r *reactor.Request) {
	response := kmsg.NewPtrApiVersionsResponse()
	for _, api := range b.table.List() {
		entry := kmsg.NewApiVersionsResponseApiKey()
		entry.ApiKey, entry.MinVersion, entry.MaxVersion = api.Key.Int16(), api.Min, api.Max
		response.ApiKeys = append(response.ApiKeys, entry)
	}
	r.Respond(response)
}
