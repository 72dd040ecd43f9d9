package subscription

import "math/bits"

// AckSet says which messages of a batch are still to be acknowledged: bit i of the set, bit i%64 of word i/64, is 1 while message i
// is. A missing word at the end is a word of zeros.
type AckSet []int64

// Remaining counts the messages that are still to be acknowledged.
func (s AckSet) Remaining() int {
	remaining := 0
	for _, word := range s {
		remaining += bits.OnesCount64(uint64(word))
	}
	return remaining
}
