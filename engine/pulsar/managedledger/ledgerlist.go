package managedledger

import (
	"cmp"
	"slices"
)

// ledgerList is the ledgers of a managed ledger, oldest first, and the arithmetic of positions over them. The last one may be the
// current ledger; its Entries are those that are acknowledged. It is a plain value: whoever owns it guards it.
type ledgerList []LedgerInfo

// at is the index of the first ledger whose id is ledger or higher.
func (l ledgerList) at(ledger int64) int {
	i, _ := slices.BinarySearchFunc(l, ledger, func(info LedgerInfo, id int64) int { return cmp.Compare(info.Ledger, id) })
	return i
}

func (l ledgerList) has(ledger int64) bool {
	i := l.at(ledger)
	return i < len(l) && l[i].Ledger == ledger
}

// first is the place before the first entry.
func (l ledgerList) first() Position {
	if len(l) == 0 {
		return Earliest
	}
	return Position{Ledger: l[0].Ledger, Entry: -1}
}

// last is the last entry, or the place before the first one of the last ledger when there is no entry.
func (l ledgerList) last() Position {
	for _, info := range slices.Backward(l) {
		if info.Entries > 0 {
			return Position{Ledger: info.Ledger, Entry: info.Entries - 1}
		}
	}
	if len(l) == 0 {
		return Earliest
	}
	return Position{Ledger: l[len(l)-1].Ledger, Entry: -1}
}

func (l ledgerList) contains(p Position) bool {
	i := l.at(p.Ledger)
	return i < len(l) && l[i].Ledger == p.Ledger && p.Entry >= 0 && p.Entry < l[i].Entries
}

// valid is the entry at p, or the first one after it; when there is none, the place where the next entry will be.
func (l ledgerList) valid(p Position) Position {
	for i := l.at(p.Ledger); i < len(l); i++ {
		entry := int64(0)
		if l[i].Ledger == p.Ledger {
			entry = max(0, p.Entry)
		}
		if entry < l[i].Entries {
			return Position{Ledger: l[i].Ledger, Entry: entry}
		}
	}
	if len(l) == 0 {
		return Position{Ledger: max(0, p.Ledger), Entry: 0}
	}
	current := l[len(l)-1]
	return Position{Ledger: current.Ledger, Entry: current.Entries}
}

// next is the position of the entry after p.
func (l ledgerList) next(p Position) Position {
	if p.Entry == Latest.Entry {
		return l.valid(p)
	}
	return l.valid(Position{Ledger: p.Ledger, Entry: p.Entry + 1})
}

// previous is the position of the entry before p, or first.
func (l ledgerList) previous(p Position) Position {
	i := l.at(p.Ledger)
	if i < len(l) && l[i].Ledger == p.Ledger && p.Entry > 0 && l[i].Entries > 0 {
		return Position{Ledger: p.Ledger, Entry: min(p.Entry-1, l[i].Entries-1)}
	}
	for i--; i >= 0; i-- {
		if l[i].Entries > 0 {
			return Position{Ledger: l[i].Ledger, Entry: l[i].Entries - 1}
		}
	}
	return l.first()
}

// rank is the number of entries up to and including p.
func (l ledgerList) rank(p Position) int64 {
	count := int64(0)
	for _, info := range l {
		switch {
		case info.Ledger < p.Ledger:
			count += info.Entries
		case info.Ledger == p.Ledger:
			return count + min(max(p.Entry+1, 0), info.Entries)
		default:
			return count
		}
	}
	return count
}

// count is the number of entries after from, up to and including to.
func (l ledgerList) count(from, to Position) int64 { return max(0, l.rank(to)-l.rank(from)) }

// ranked is the inverse of rank: the entry with so many entries up to and including it; first for 0, last beyond the end.
func (l ledgerList) ranked(rank int64) Position {
	if rank <= 0 {
		return l.first()
	}
	for _, info := range l {
		if rank <= info.Entries {
			return Position{Ledger: info.Ledger, Entry: rank - 1}
		}
		rank -= info.Entries
	}
	return l.last()
}

func (l ledgerList) entries() (entries, bytes int64) {
	for _, info := range l {
		entries += info.Entries
		bytes += info.Bytes
	}
	return entries, bytes
}
