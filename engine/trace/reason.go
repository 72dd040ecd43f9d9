package trace

// Reason is why something happened: a word of this closed list. The page has each of them in every language that it speaks.
type Reason string

// Why a controller wrote a partition's state.
const (
	ReasonCreated            Reason = "created"
	ReasonElectionClean      Reason = "election-clean"
	ReasonElectionUnclean    Reason = "election-unclean"
	ReasonElectionPreferred  Reason = "election-preferred"
	ReasonControlledShutdown Reason = "controlled-shutdown"
	ReasonReplicaOffline     Reason = "replica-offline"
	ReasonISRChanged         Reason = "isr-changed"
	ReasonReassigned         Reason = "reassigned"
	ReasonTakenOver          Reason = "taken-over" // nothing was written: a new controller found it so
)

// Why a Pulsar-mode broker gave up a bundle, or no longer serves a topic.
const (
	ReasonUnload      Reason = "unload"
	ReasonSplit       Reason = "split"
	ReasonShutdown    Reason = "shutdown"
	ReasonSessionLost Reason = "sessionLost"
	ReasonDeleted     Reason = "deleted"
	ReasonPolicies    Reason = "policies" // those of its namespace have changed: it is loaded anew
	ReasonFenced      Reason = "fenced"   // another broker writes to its ledger
)

// Why a bookie's mode changed.
const (
	ReasonDiskFull    Reason = "diskFull"
	ReasonDiskHasRoom Reason = "diskHasRoom"
)
