package replica

import (
	"math"
	"testing"
)

func TestProducers(t *testing.T) {
	var p Producers
	offset := int64(0)
	for i, step := range []struct {
		id       int64
		epoch    int16
		sequence int32
		records  int32
		want     Verdict
	}{
		{7, 0, 5, 3, VerdictAppend},      // unknown: any sequence
		{7, 0, 8, 1, VerdictAppend},      // next
		{7, 0, 8, 1, VerdictDuplicate},   // answer was lost
		{7, 0, 5, 3, VerdictDuplicate},   // an earlier one
		{7, 0, 5, 2, VerdictOutOfOrder},  // same start, another size
		{7, 0, 10, 1, VerdictOutOfOrder}, // a gap
		{8, 0, 0, 1, VerdictAppend},      // another producer
		{7, 1, 4, 1, VerdictOutOfOrder},  // a new epoch begins at 0
		{7, 1, 0, 1, VerdictAppend},
		{7, 0, 9, 1, VerdictFenced}, // the old epoch
		{-1, -1, -1, 4, VerdictAppend},
		{9, 0, math.MaxInt32 - 1, 2, VerdictAppend},
		{9, 0, 0, 1, VerdictAppend}, // sequence numbers wrap to 0
	} {
		b := Batch{ProducerID: step.id, Epoch: step.epoch, BaseSequence: step.sequence, Records: step.records, BaseOffset: offset, LastOffset: offset + int64(step.records) - 1}
		verdict, _ := p.Check(b)
		if verdict != step.want {
			t.Fatalf("step %d %+v: verdict %d, want %d", i, step, verdict, step.want)
		}
		if verdict == VerdictAppend {
			p.Appended(b, start)
			offset = b.LastOffset + 1
		}
	}
}

func TestFiveBatchesAreRemembered(t *testing.T) {
	var p Producers
	for i := range int32(6) {
		p.Appended(Batch{ProducerID: 1, BaseSequence: i, Records: 1, BaseOffset: int64(100 + i), LastOffset: int64(100 + i)}, start)
	}
	if verdict, earlier := p.Check(Batch{ProducerID: 1, BaseSequence: 1, Records: 1}); verdict != VerdictDuplicate || earlier.BaseOffset != 101 {
		t.Errorf("the fifth last batch: %d at %d", verdict, earlier.BaseOffset)
	}
	if verdict, _ := p.Check(Batch{ProducerID: 1, BaseSequence: 0, Records: 1}); verdict != VerdictOutOfOrder {
		t.Errorf("the sixth last batch: %d", verdict)
	}
	p.Expire(at(1))
	if verdict, _ := p.Check(Batch{ProducerID: 1, BaseSequence: 77, Records: 1}); verdict != VerdictAppend {
		t.Errorf("a forgotten producer may go on anywhere: %d", verdict)
	}
}

func TestProducersAreBounded(t *testing.T) {
	var p Producers
	for i := range rememberedProducers + 10 {
		p.Appended(Batch{ProducerID: int64(i), Records: 1}, at(i))
	}
	if n := len(p.States()); n != rememberedProducers {
		t.Errorf("%d producers are remembered", n)
	}
	if verdict, _ := p.Check(Batch{ProducerID: 0, BaseSequence: 0, Records: 1}); verdict != VerdictAppend {
		t.Error("the oldest producer is still there")
	}
}
