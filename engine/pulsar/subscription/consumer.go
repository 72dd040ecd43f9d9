package subscription

import "errors"

// Type is one of the four subscription types; the numbers are those of the protocol.
type Type int

// The subscription types.
const (
	Exclusive Type = iota
	Shared
	Failover
	KeyShared
)

// String is the name that tools and stats show.
func (t Type) String() string {
	switch t {
	case Exclusive:
		return "Exclusive"
	case Shared:
		return "Shared"
	case Failover:
		return "Failover"
	case KeyShared:
		return "Key_Shared"
	}
	return "None"
}

// singleActive tells whether one consumer at a time gets everything, in order.
func (t Type) singleActive() bool { return t == Exclusive || t == Failover }

var (
	// ErrBusy: an Exclusive subscription has its consumer already.
	ErrBusy = errors.New("Exclusive consumer is already connected")
	// ErrOtherType: consumers of another type are connected.
	ErrOtherType = errors.New("Subscription is of different type")
	// ErrRanges: sticky Key_Shared ranges are missing, out of bounds, or overlap those of another consumer.
	ErrRanges = errors.New("Range conflict with consumer")
)

// ConsumerID names a consumer; the caller keeps it unique within the subscription.
type ConsumerID uint64

// Consumer is what the dispatch decision needs to know about a consumer.
type Consumer struct {
	ID ConsumerID
	// Name orders the consumers of a Failover subscription.
	Name string
	// Priority: 0 goes first; a lower priority level gets messages only while no consumer above it has permits.
	Priority int
	// Sticky holds the hash ranges that a Key_Shared consumer asked for; empty for automatic ranges.
	Sticky []HashRange
	// OutOfOrder gives up the order of a key for the sake of speed.
	OutOfOrder bool
}

// Status is what stats show of a consumer.
type Status struct {
	Consumer
	Permits int // messages it may still be sent; negative after a batch that was larger than what was left
	Unacked int // messages sent and not acknowledged; counted for Shared and Key_Shared
	Active  bool
}

type member struct {
	Consumer
	permits int
	unacked int
	held    bool
}

// ActiveChange tells a consumer whether it is the active one.
type ActiveChange struct {
	Consumer ConsumerID
	Active   bool
}

// Effects is what the caller has to do after a change among the consumers.
type Effects struct {
	// Active lists the consumers to be told, in order of arrival.
	Active []ActiveChange
	// ActiveID is the active consumer when HasActive.
	ActiveID  ConsumerID
	HasActive bool
	// Rewind: reading starts again after the cursor's mark-delete position; reads on their way are to be dropped.
	Rewind bool
}
