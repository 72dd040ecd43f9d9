package broker

import (
	"strconv"
	"time"
)

// RuntimeConfiguration is what the broker runs with, by the names that Pulsar's broker.conf has for it. Times that Pulsar counts in
// minutes may be fractions here: a classroom does not wait that long.
func (b *Broker) RuntimeConfiguration() map[string]string {
	c := b.config
	whole := func(d, unit time.Duration) string { return strconv.FormatInt(int64(d/unit), 10) }
	driver := ""
	if c.Medium != nil {
		driver = c.MediumDriver
	}
	return map[string]string{
		"clusterName":                                          c.Cluster,
		"metadataStoreSessionTimeoutMillis":                    whole(c.SessionTimeout, time.Millisecond),
		"keepAliveIntervalSeconds":                             whole(c.KeepAlive, time.Second),
		"brokerDeleteInactiveTopicsEnabled":                    strconv.FormatBool(c.InactiveTopicsFor > 0),
		"brokerDeleteInactiveTopicsMaxInactiveDurationSeconds": whole(max(0, c.InactiveTopicsFor), time.Second),
		"maxMessageSize":                                       strconv.Itoa(c.MaxMessageSize),
		"defaultNumberOfNamespaceBundles":                      strconv.Itoa(c.Bundles),
		"managedLedgerDefaultEnsembleSize":                     strconv.Itoa(c.Ensemble),
		"managedLedgerDefaultWriteQuorum":                      strconv.Itoa(c.WriteQuorum),
		"managedLedgerDefaultAckQuorum":                        strconv.Itoa(c.AckQuorum),
		"managedLedgerMaxEntriesPerLedger":                     strconv.FormatInt(c.LedgerEntries, 10),
		"managedLedgerMinLedgerRolloverTimeMinutes":            strconv.FormatFloat(max(0, c.LedgerRollover).Minutes(), 'g', 6, 64),
		"managedLedgerCacheSizeMB":                             strconv.FormatInt(c.CacheBytes>>20, 10),
		"managedLedgerOffloadDriver":                           driver,
		"managedLedgerOffloadDeletionLagMs":                    whole(max(0, c.OffloadDeletionLag), time.Millisecond),
		"managedLedgerOffloadAutoTriggerSizeThresholdBytes":    "-1",
		"managedLedgerDataReadPriority":                        "tiered-storage-first",
		"brokerMaxConnections":                                 strconv.Itoa(c.MaxConnections),
	}
}
