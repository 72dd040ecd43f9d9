package workload

// delivered remembers which messages, numbered from 0, have been delivered, in little memory although millions may be: messages come
// nearly in order, so that all below a mark are there and only few above it.
//
// Invariant: every number below complete*pageNumbers has been delivered, or is so far behind the newest that it is taken to be.
type delivered struct {
	complete int64 // pages that are full, from the first on
	pages    map[int64]*page
	newest   int64
	count    int64 // different messages delivered
}

const (
	pageNumbers = 4096
	// pagesKept bounds how far behind the newest message a late one is still told from a duplicate: 4 million messages.
	pagesKept = 1024
)

type page struct {
	bits  [pageNumbers / 64]uint64
	count int
}

// note notes a delivery and tells whether it is the first one of this message.
func (d *delivered) note(number int64) (first bool) {
	index, bit := number/pageNumbers, uint(number%pageNumbers)
	if index < d.complete {
		return false
	}
	p := d.pages[index]
	if p == nil {
		if d.pages == nil {
			d.pages = map[int64]*page{}
		}
		p = &page{}
		d.pages[index] = p
	}
	if p.bits[bit/64]&(1<<(bit%64)) != 0 {
		return false
	}
	p.bits[bit/64] |= 1 << (bit % 64)
	p.count++
	d.count++
	d.newest = max(d.newest, number)
	for {
		first := d.pages[d.complete]
		behind := d.newest/pageNumbers-d.complete >= pagesKept
		if !behind && (first == nil || first.count < pageNumbers) {
			return true
		}
		delete(d.pages, d.complete)
		d.complete++
	}
}
