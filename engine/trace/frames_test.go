package trace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func sentMessage(size int, correlation int64) MessageSent {
	return MessageSent{Message{Exchange: Exchange{Connection: "a>b", Correlation: correlation}, Protocol: "kafka", Name: "Produce", Bytes: int64(size)}}
}

// TestFramesAreTheNewestAndWhole: whatever the sizes, a frame that is found has the bytes of its own message, and the newest are found.
func TestFramesAreTheNewestAndWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var f frames
	content := func(seq uint64, size int) []byte {
		return bytes.Repeat([]byte{byte(seq), byte(seq >> 8), byte(size)}, size/3+1)[:size]
	}
	sizes := map[uint64]int{}
	for seq := uint64(1); seq <= 20_000; seq++ {
		size := 1 + random.IntN(40)
		if random.IntN(4) == 0 {
			size = 1 + random.IntN(3*maxFrame)
		}
		sizes[seq] = size
		whole := content(seq, size)
		cut := random.IntN(size + 1)
		f.keep(seq, Message{Protocol: "kafka", Bytes: int64(size)}, Frame{Kind: 3, Version: 4, Head: whole[:cut], Body: whole[cut:]})
		kept := 0
		if seq%997 != 0 {
			continue
		}
		for past := seq; past > 0; past-- {
			frame, found := f.find(past)
			if !found {
				break
			}
			want := content(past, sizes[past])
			if frame.Size != int64(len(want)) || !bytes.Equal(frame.Bytes, want[:min(len(want), maxFrame)]) || frame.Kind != 3 || frame.Version != 4 {
				t.Fatalf("after %d: frame %d is %d bytes of %d", seq, past, len(frame.Bytes), frame.Size)
			}
			kept++
		}
		if seq > 2000 && kept < 200 {
			t.Fatalf("after %d: only %d frames", seq, kept)
		}
	}
	if cap(f.bytes) > 2*frameRing || len(f.kept) > 2*maxFrames+1 {
		t.Errorf("%d bytes, %d frames", cap(f.bytes), len(f.kept))
	}
}

func TestFramesOfSmallMessagesAreBounded(t *testing.T) {
	var f frames
	for seq := uint64(1); seq <= 3*maxFrames; seq++ {
		f.keep(seq, Message{}, Frame{Head: []byte{1}})
	}
	if _, found := f.find(2*maxFrames + 1); !found || len(f.kept) > 2*maxFrames+1 {
		t.Errorf("the newest are gone, or %d are kept", len(f.kept))
	}
	if _, found := f.find(2 * maxFrames); found {
		t.Error("more frames than the bound allows")
	}
}

func TestOnlyMessagesWithARecordAreCaptured(t *testing.T) {
	tracer := NewTracer("run", "kafka-1", 1<<12)
	life := tracer.Life()
	copied := 0
	frame := Frame{Head: []byte("head"), Body: []byte("body"), More: func(into []byte) int { copied++; return copy(into, "more") }}
	refs := map[uint64]int{}
	for i := range 1000 {
		refs[life.EmitMessage(Ref{}, sentMessage(12, int64(i)), frame).Seq]++
	}
	if copied != len(refs) || copied > singleEvents+singlePerFlow+2 {
		t.Errorf("%d records, %d copies", len(refs), copied)
	}
	for seq := range refs {
		got, found := tracer.Frame(seq)
		if want := (CapturedFrame{Seq: seq, Protocol: "kafka", Size: 12, Bytes: []byte("headbodymore")}); !found || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	life.Silence()
	if ref := life.EmitMessage(Ref{}, sentMessage(1, 1), frame); ref != (Ref{}) || copied != len(refs) {
		t.Error("a silenced life captured")
	}
	if _, found := tracer.Frame(99_999); found {
		t.Error("a frame of no record")
	}
	var none *Tracer
	if _, found := none.Frame(1); found || none.EmitMessage(Ref{}, sentMessage(1, 1), frame) != (Ref{}) {
		t.Error("a nil tracer captures nothing")
	}
}

// TestAMessageThatTakesLongHoldsNobodyUp: whatever happens while one message is copied, others are traced and can be looked at.
func TestAMessageThatTakesLongHoldsNobodyUp(t *testing.T) {
	tracer := NewTracer("run", "kafka-1", 100)
	copying, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan Ref)
	go func() {
		ended <- tracer.EmitMessage(Ref{}, sentMessage(12, 1), Frame{Head: []byte("slow"), More: func(into []byte) int {
			close(copying)
			<-goOn
			return copy(into, "ly")
		}})
	}()
	<-copying
	var other CapturedFrame
	found := make(chan bool)
	go func() {
		ref := tracer.EmitMessage(Ref{}, sentMessage(12, 2), Frame{Head: []byte("fast")})
		got, is := tracer.Frame(ref.Seq)
		other = got
		found <- is
	}()
	select {
	case is := <-found:
		if !is || string(other.Bytes) != "fast" {
			t.Errorf("%v %+v", is, other)
		}
	case <-time.After(10 * time.Second):
		t.Error("a message is not traced while another one is copied")
	}
	close(goOn)
	if frame, is := tracer.Frame((<-ended).Seq); !is || string(frame.Bytes) != "slowly" {
		t.Errorf("%v %+v", is, frame)
	}
}

func BenchmarkEmitMessage(b *testing.B) {
	value := make([]byte, 1100)
	for name, emit := range map[string]func(*Tracer, MessageSent){
		"without": func(t *Tracer, m MessageSent) { t.Emit(m) },
		"with":    func(t *Tracer, m MessageSent) { t.EmitMessage(Ref{}, m, Frame{Head: value}) },
	} {
		b.Run(name, func(b *testing.B) {
			tracer := NewTracer("run", "kafka-1", 1<<14)
			var records []Record
			for i := 0; b.Loop(); i++ {
				m := sentMessage(1100, int64(i))
				m.Subject = fmt.Sprint("topic-", i%4)
				emit(tracer, m)
				if i%10_000 == 9_999 {
					records = tracer.Drain(records[:0])
				}
			}
		})
	}
}
