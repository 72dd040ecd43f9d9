package managedledger

import "errors"

var (
	// ErrFenced: another owner has opened this managed ledger; this one must let go of it. Nothing can be written here any more.
	ErrFenced = errors.New("managed ledger is owned by somebody else now")
	// ErrTerminated: the managed ledger was sealed for ever by Terminate; it can only be read.
	ErrTerminated = errors.New("managed ledger is terminated")
	// ErrClosed: the managed ledger (or cursor) was closed here.
	ErrClosed = errors.New("managed ledger is closed")
	// ErrNotFound: there is no managed ledger, cursor or entry of that name.
	ErrNotFound = errors.New("not found")
	// ErrStorage: bookies or ZooKeeper did not do what was asked; the error around it says which. Trying again later may work.
	ErrStorage = errors.New("managed ledger storage is not available")
	// ErrTooManyPending: the adds that wait for bookies have reached Config.MaxPendingBytes; the caller should stop reading from its
	// producers until some are done.
	ErrTooManyPending = errors.New("too many adds are pending")
	// ErrInvalidPosition: the position cannot be meant, such as a mark-delete beyond the last entry.
	ErrInvalidPosition = errors.New("invalid position")
	// ErrNoMedium: the broker has no medium to offload ledgers to, or to read those that were offloaded.
	ErrNoMedium = errors.New("the broker has no medium for offloaded ledgers; start it with one")
	// ErrOffloading: an offload that was asked for is under way.
	ErrOffloading = errors.New("an offload is under way already")
)
