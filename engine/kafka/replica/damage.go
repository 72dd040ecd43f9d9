package replica

import "slices"

// Damage is what a broker knows of a replica whose log does not hold all that was in it: bytes in the middle are spoiled, or the end is gone.
//
// The danger is the cut. A member of the ISR is expected to hold every committed record and may be elected at any time, so a replica that
// quietly cut its log where the damage begins could become the leader and take the committed records behind the cut from everybody. Hence
// the order: first the replica leaves the ISR, in the controller's books, and only then its log is cut and filled again by its leader. The
// last member of an ISR never leaves it; what it can still read, it serves.
type Damage struct {
	// Epoch is the leader epoch in which the damage was found; Undefined: when the log was opened, before this broker had a role.
	Epoch int32
	// Readable: the log is open, and what is whole in it can be served.
	Readable bool
}

// Course is what a damaged replica does about a role that the controller assigns.
type Course int

const (
	// Serve: it takes the role. Nobody else is in sync, or nobody leads.
	Serve Course = iota
	// StepAside: it refuses (KAFKA_STORAGE_ERROR), which makes the controller take it out of the ISR and elect another leader.
	StepAside
	// BeginAnew: it is out of the ISR and another replica leads, so it gives up what is damaged and all behind it, and follows.
	BeginAnew
)

// Course decides. That the replica is not in the ISR counts only in a leader epoch after the one in which it was found to be damaged: until
// then its leader, which saw it fetch, may have asked for it, and the controller may have agreed.
func (d Damage) Course(local int32, a Assignment) Course {
	inSync := slices.Contains(a.ISR, local)
	switch {
	case !inSync && a.Leader >= 0 && a.LeaderEpoch > d.Epoch:
		return BeginAnew
	case d.Readable && (a.Leader < 0 || inSync && len(a.ISR) == 1):
		return Serve
	}
	return StepAside
}

// MayStepAside tells whether another member of the ISR could lead in the place of this replica.
func (v View) MayStepAside(local int32) bool {
	return v.Role != RoleNone && len(v.ISR) > 1 && slices.Contains(v.ISR, local)
}
