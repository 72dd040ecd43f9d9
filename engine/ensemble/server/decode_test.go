package server

import (
	"bytes"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

func FuzzPeerFrames(f *testing.F) {
	greeting := hello{server: 1, to: 2, raftID: 1, nonce: 7, founders: map[int32]int64{2: 9}}
	message, _ := proto.Marshal(&raftpb.Message{Type: raftpb.MsgApp.Enum(), Entries: []*raftpb.Entry{{Data: []byte("x")}}})
	f.Add(appendPeerFrame(appendPeerFrame(nil, frameHello, greeting.encode()), frameRaft, message))
	f.Add(appendPeerFrame(appendPeerFrame(nil, frameTouch, encodeTouches([]int64{1, 2})), frameJoin, join{1, 2, true}.encode()))
	f.Add(appendPeerFrame(nil, frameWelcome, welcome{1, 2}.encode()))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, stream []byte) {
		reader := bytes.NewReader(stream)
		for {
			kind, payload, err := readPeerFrame(reader)
			if err != nil {
				return
			}
			switch kind {
			case frameHello:
				if h, err := decodeHello(payload); err == nil && len(h.founders) > len(payload) {
					t.Fatalf("%d founders out of %d bytes", len(h.founders), len(payload))
				}
			case frameTouch:
				decodeTouches(payload)
			case frameJoin:
				_, _ = decodeJoin(payload)
			case frameWelcome:
				_, _ = decodeWelcome(payload)
			}
		}
	})
}

func FuzzEntry(f *testing.F) {
	entryType := raftpb.EntryNormal
	frame := appendEntryFrame(nil, &raftpb.Entry{Index: new(uint64(5)), Term: new(uint64(2)), Type: &entryType, Data: []byte("data")})
	f.Add(frame)
	f.Add(frame[:20])
	f.Fuzz(func(t *testing.T, frames []byte) {
		for len(frames) > 0 {
			entry, rest, err := DecodeEntry(frames)
			if err != nil {
				return
			}
			if again := appendEntryFrame(nil, entry); !bytes.Equal(again, frames[:len(frames)-len(rest)]) {
				t.Fatalf("%x decodes and encodes to %x", frames, again)
			}
			frames = rest
		}
	})
}

func FuzzSnapshotFile(f *testing.F) {
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, file []byte) { _, _ = parseSnapshot(file) })
}

func FuzzZooConfig(f *testing.F) {
	f.Add("dataDir=/d\nclientPort=2181\nserver.1=a:1:2:participant;3\nserver.2=b:1:2\n#x\n tickTime = 500")
	f.Fuzz(func(t *testing.T, text string) {
		read := func(path string) ([]byte, error) {
			if path == "zoo.cfg" {
				return []byte(text), nil
			}
			return []byte("1"), nil
		}
		_, _ = ReadZooConfig("zoo.cfg", "-Dzookeeper.x=y", read)
	})
}

func TestFoundingDecides(t *testing.T) {
	blank := func(server int32) *hello { return &hello{server: server, nonce: int64(server) * 10} }
	member := func(server int32, founders map[int32]int64) *hello {
		return &hello{server: server, raftID: uint64(server), founders: founders}
	}
	for name, c := range map[string]struct {
		heard  []*hello
		waited bool
		want   foundingStep
	}{
		"all others have nothing":                         {[]*hello{blank(2), blank(3)}, false, foundNow},
		"one is missing":                                  {[]*hello{blank(2)}, false, keepWaiting},
		"one is missing for long":                         {[]*hello{blank(2)}, true, foundNow},
		"both are missing for long":                       {nil, true, keepWaiting},
		"another one founded and knew this process":       {[]*hello{member(2, map[int32]int64{1: 10})}, false, foundNow},
		"another one founded and knew an earlier process": {[]*hello{member(2, map[int32]int64{1: 9})}, false, joinOthers},
		"another one has been a member since its start":   {[]*hello{member(2, nil)}, false, joinOthers},
		"one has nothing, the other one is a member":      {[]*hello{blank(2), member(3, nil)}, true, joinOthers},
	} {
		f := founding{self: 1, nonce: 10, peers: []int32{2, 3}, blank: map[int32]int64{}}
		if c.waited {
			f.waited = foundingPatience
		}
		got := f.decide(nil)
		for _, h := range c.heard {
			if got = f.decide(h); got == joinOthers {
				break
			}
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
