package bookie

import (
	"cmp"
	"slices"
)

// place is where an entry's record lies in an entry log.
type place struct {
	entry    int64
	position uint32 // byte in the log's only segment
	size     uint32 // of the record
}

// ledgerPlaces are the records of one ledger in one entry log, sorted by entry.
type ledgerPlaces struct {
	places []place
	bytes  int64
}

func (l *ledgerPlaces) search(entry int64) (int, bool) {
	if last := len(l.places) - 1; last >= 0 && l.places[last].entry < entry {
		return last + 1, false // entries nearly always come in order
	}
	return slices.BinarySearchFunc(l.places, entry, func(p place, entry int64) int { return cmp.Compare(p.entry, entry) })
}

// put adds a record; of two records of the same entry the later one counts.
func (l *ledgerPlaces) put(p place) {
	at, found := l.search(p.entry)
	if found {
		l.bytes += int64(p.size) - int64(l.places[at].size)
		l.places[at] = p
		return
	}
	l.bytes += int64(p.size)
	l.places = slices.Insert(l.places, at, p)
}

func (l *ledgerPlaces) get(entry int64) (place, bool) {
	at, found := l.search(entry)
	if !found {
		return place{}, false
	}
	return l.places[at], true
}

// last is the highest entry; a negative one is a record about the ledger.
func (l *ledgerPlaces) last() int64 { return l.places[len(l.places)-1].entry }
