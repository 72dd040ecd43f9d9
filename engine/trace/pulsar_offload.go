package trace

// PulsarLedgerOffloadStarted: the broker that owns a managed ledger begins to copy a sealed ledger to the medium of tiered storage.
type PulsarLedgerOffloadStarted struct {
	ManagedLedger string `json:"managedLedger"` // "public/default/persistent/orders"
	Ledger        int64  `json:"ledger"`
	Medium        string `json:"medium"` // the driver, as Pulsar names it: filesystem, S3
}

// PulsarLedgerOffloaded: the ledger is whole on the medium, and the managed ledger's metadata says so. From now on it is read there;
// bookies keep their copy until PulsarLedgerDeletedFromBookies.
type PulsarLedgerOffloaded struct {
	ManagedLedger string `json:"managedLedger"`
	Ledger        int64  `json:"ledger"`
	Entries       int64  `json:"entries"`
	Bytes         int64  `json:"bytes"` // on the medium, index included
	Medium        string `json:"medium"`
	Object        string `json:"object"` // name of the data on the medium
}

// PulsarLedgerOffloadFailed: the copy broke off or was found damaged; bookies have the ledger as before.
type PulsarLedgerOffloadFailed struct {
	ManagedLedger string `json:"managedLedger"`
	Ledger        int64  `json:"ledger"`
	Detail        string `json:"detail"`
}

// PulsarLedgerDeletedFromBookies: the medium's copy was read through and is whole, and the ledger's metadata in BookKeeper is gone. The
// medium has the only copy now.
type PulsarLedgerDeletedFromBookies struct {
	ManagedLedger string `json:"managedLedger"`
	Ledger        int64  `json:"ledger"`
	Medium        string `json:"medium"`
}

// PulsarOffloadedLedgerDeleted: the managed ledger no longer has an offloaded ledger, because nobody needed it any more or the topic was
// deleted. Its objects are removed from the medium about then; should that fail, nobody reads them.
type PulsarOffloadedLedgerDeleted struct {
	ManagedLedger string `json:"managedLedger"`
	Ledger        int64  `json:"ledger"`
}

// PulsarOffloadedLedger is an offloaded ledger that a broker found in a managed ledger's metadata.
type PulsarOffloadedLedger struct {
	ManagedLedger      string `json:"managedLedger"`
	Ledger             int64  `json:"ledger"`
	Entries            int64  `json:"entries"`
	Bytes              int64  `json:"bytes"` // payloads
	Medium             string `json:"medium"`
	Object             string `json:"object"`
	DeletedFromBookies bool   `json:"deletedFromBookies"`
}

func (PulsarLedgerOffloadStarted) Kind() string     { return "pulsar.ledgerOffloadStarted" }
func (PulsarLedgerOffloaded) Kind() string          { return "pulsar.ledgerOffloaded" }
func (PulsarLedgerOffloadFailed) Kind() string      { return "pulsar.ledgerOffloadFailed" }
func (PulsarLedgerDeletedFromBookies) Kind() string { return "pulsar.ledgerDeletedFromBookies" }
func (PulsarOffloadedLedgerDeleted) Kind() string   { return "pulsar.offloadedLedgerDeleted" }
