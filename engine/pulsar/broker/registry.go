package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bundle"
	"twinlog/engine/trace"
)

// ServerVersion is what the broker calls itself to clients and in its registration.
const ServerVersion = "twinlog"

// BrokerData is the value of /loadbalance/brokers/{broker}: where a broker is reached and how loaded it says it is.
type BrokerData struct {
	WebServiceURL       string                  `json:"webServiceUrl"`
	PulsarServiceURL    string                  `json:"pulsarServiceUrl"`
	PersistentEnabled   bool                    `json:"persistentTopicsEnabled"`
	NonPersistent       bool                    `json:"nonPersistentTopicsEnabled"`
	MsgRateIn           float64                 `json:"msgRateIn"`
	MsgRateOut          float64                 `json:"msgRateOut"`
	MsgThroughputIn     float64                 `json:"msgThroughputIn"`
	MsgThroughputOut    float64                 `json:"msgThroughputOut"`
	NumTopics           int                     `json:"numTopics"`
	NumBundles          int                     `json:"numBundles"`
	NumConsumers        int                     `json:"numConsumers"`
	NumProducers        int                     `json:"numProducers"`
	Bundles             []string                `json:"bundles"`
	BrokerVersion       string                  `json:"brokerVersionString"`
	AdvertisedListeners map[string]listenerURLs `json:"advertisedListeners"`
	LoadManager         string                  `json:"loadManagerClassName"`
	StartTimestamp      int64                   `json:"startTimestamp"`
	LastUpdate          int64                   `json:"lastUpdate"`
	ReportType          string                  `json:"loadReportType"`
}

// listenerURLs is one advertised listener in a znode.
type listenerURLs struct {
	BrokerServiceURL string `json:"brokerServiceUrl"`
	BrokerHTTPURL    string `json:"brokerHttpUrl"`
}

func (d BrokerData) urls(listener string) urls {
	return ownerData{NativeURL: d.PulsarServiceURL, HTTPURL: d.WebServiceURL, AdvertisedListeners: d.AdvertisedListeners}.urls(listener)
}

func (b *Broker) advertisedListeners() map[string]listenerURLs {
	if b.internal == nil {
		return map[string]listenerURLs{}
	}
	return map[string]listenerURLs{InternalListener: {BrokerServiceURL: b.internal.pulsar, BrokerHTTPURL: b.internal.http}}
}

func (b *Broker) registration() BrokerData {
	bundles := []string{}
	for _, owned := range b.ownership.list() {
		bundles = append(bundles, owned.String())
	}
	load := b.topics.load()
	return BrokerData{
		WebServiceURL: b.urls.http, PulsarServiceURL: b.urls.pulsar, PersistentEnabled: true, NonPersistent: true,
		MsgRateIn: load.rateIn, MsgRateOut: load.rateOut, MsgThroughputIn: load.bytesIn, MsgThroughputOut: load.bytesOut,
		NumTopics: load.topics, NumBundles: len(bundles), NumConsumers: load.consumers, NumProducers: load.producers,
		Bundles: bundles, BrokerVersion: ServerVersion, AdvertisedListeners: b.advertisedListeners(),
		LoadManager: "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
		LastUpdate:  time.Now().UnixMilli(), ReportType: "LocalBrokerData",
	}
}

// register creates the broker's ephemeral znode. One that is left from an earlier life at the same address is replaced: the port
// is ours, so that life is over.
func (b *Broker) register() error {
	znode := brokersPath + "/" + b.id
	if err := b.createEphemeral(znode, b.registration()); err != nil {
		return err
	}
	b.tracer.Emit(trace.PulsarBrokerRegistered{Broker: b.id, URL: b.urls.pulsar})
	return nil
}

func (b *Broker) unregister() error { return b.remove(brokersPath + "/" + b.id) }

// createEphemeral creates a znode of this session that only this broker may have.
func (b *Broker) createEphemeral(znode string, value any) error {
	data, err := marshal(value)
	if err != nil {
		return err
	}
	for {
		err := b.create(znode, data, zk.FlagEphemeral)
		if !errors.Is(err, ErrExists) {
			return err
		}
		_, stat, err := b.zookeeper.Get(znode)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			continue
		case err != nil:
			return fmt.Errorf("reading %s: %w", znode, err)
		case stat.EphemeralOwner == b.zookeeper.SessionID():
			return nil
		}
		if err := b.remove(znode); err != nil {
			return err
		}
	}
}

// Brokers lists the registered brokers, sorted.
func (b *Broker) Brokers() ([]string, error) {
	names, err := b.children(brokersPath)
	slices.Sort(names)
	return names, err
}

// BrokerData reads what a broker registered; ErrNotFound when it is not there.
func (b *Broker) BrokerData(broker string) (BrokerData, error) {
	var data BrokerData
	_, err := b.readJSON(brokersPath+"/"+broker, &data)
	return data, err
}

// loads reads what every broker reported.
func (b *Broker) loads() ([]bundle.Load, map[string]BrokerData, error) {
	names, err := b.Brokers()
	if err != nil {
		return nil, nil, err
	}
	reports := map[string]BrokerData{}
	var loads []bundle.Load
	for _, name := range names {
		data, err := b.BrokerData(name)
		if errors.Is(err, ErrNotFound) {
			continue // left between the two reads
		}
		if err != nil {
			return nil, nil, err
		}
		reports[name] = data
		loads = append(loads, bundle.Load{Broker: name, MessageRate: data.MsgRateIn + data.MsgRateOut, Bundles: len(data.Bundles)})
	}
	return loads, reports, nil
}

// runReports keeps the registration's load up to date: at once when bundles come or go, and when the load changed by a tenth.
func (b *Broker) runReports(ctx context.Context) {
	ticker := time.NewTicker(b.config.MaintenanceEvery)
	defer ticker.Stop()
	var last BrokerData
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.nudgeReport:
		case <-ticker.C:
			b.topics.measure()
		}
		now := b.registration()
		if !worthReporting(last, now) {
			continue
		}
		if err := b.writeJSON(brokersPath+"/"+b.id, now, -1); err != nil {
			b.logger.Debug("load report", "broker", b.id, "error", err)
			continue
		}
		last = now
	}
}

func worthReporting(last, now BrokerData) bool {
	return !slices.Equal(last.Bundles, now.Bundles) || last.NumTopics != now.NumTopics ||
		last.NumProducers != now.NumProducers || last.NumConsumers != now.NumConsumers ||
		changed(last.MsgRateIn, now.MsgRateIn) || changed(last.MsgRateOut, now.MsgRateOut)
}

func changed(before, after float64) bool {
	const share = 0.1
	return math.Abs(after-before) > share*max(before, 1)
}

// reportSoon lets the load report be written without waiting for its time.
func (b *Broker) reportSoon() {
	select {
	case b.nudgeReport <- struct{}{}:
	default:
	}
}
