package controller

import (
	"testing"
)

// BenchmarkFailover is a new controller of 10,000 partitions on three brokers that finds one of them dead.
func BenchmarkFailover(b *testing.B) {
	z := newZnodes(b)
	z.topics["t"] = map[int32][]int32{}
	for index := range int32(10_000) {
		first := index % 3
		z.topics["t"][index] = []int32{first + 1, (first+1)%3 + 1, (first+2)%3 + 1}
	}
	z.apply(New(1, 1, testSettings).Start(z.snapshot(brokers(1, 2, 3))))
	snapshot := z.snapshot(brokers(1, 2))
	for b.Loop() {
		New(2, 2, testSettings).Start(snapshot)
	}
}
