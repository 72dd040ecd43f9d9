package ledger

// WriteSet is the indexes into the ensemble of the bookies that hold an entry: writeQuorum of them, round robin from the entry's own
// place. The order is the order in which a reader asks.
func WriteSet(entry int64, ensemble, writeQuorum int) []int {
	set := make([]int, writeQuorum)
	first := int(entry % int64(ensemble))
	for i := range set {
		set[i] = (first + i) % ensemble
	}
	return set
}

// indexSet is a set of ensemble indexes.
type indexSet uint64

func (s indexSet) has(index int) bool          { return s&(1<<index) != 0 }
func (s indexSet) with(index int) indexSet     { return s | 1<<index }
func (s indexSet) without(o indexSet) indexSet { return s &^ o }

// writeSetOf is WriteSet as a set.
func writeSetOf(entry int64, ensemble, writeQuorum int) indexSet {
	var set indexSet
	first := int(entry % int64(ensemble))
	for i := range writeQuorum {
		set = set.with((first + i) % ensemble)
	}
	return set
}
