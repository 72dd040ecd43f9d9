package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"testing"
)

var key = bytes.Repeat([]byte{7}, MasterKeySize)

func entry(ledger, entry int64, payload string) []byte {
	body := binary.BigEndian.AppendUint64(nil, uint64(ledger))
	body = binary.BigEndian.AppendUint64(body, uint64(entry))
	return append(body, payload...)
}

func requests() []*Request {
	var all []*Request
	for _, version := range []int{Version2, Version3} {
		base := Request{Version: version, PreviousLAC: NoLAC}
		if version == Version3 {
			base.Txn = 1<<63 + 9
		}
		for _, change := range []func(r *Request){
			func(r *Request) {
				r.Operation, r.Ledger, r.Entry, r.MasterKey, r.Body = AddEntry, 12, 7, key, entry(12, 7, "payload")
			},
			func(r *Request) {
				r.Operation, r.Ledger, r.Entry, r.MasterKey, r.Body, r.Recovery = AddEntry, 12, 7, key, entry(12, 7, ""), true
			},
			func(r *Request) { r.Operation, r.Ledger, r.Entry = ReadEntry, 12, 7 },
			func(r *Request) {
				r.Operation, r.Ledger, r.Entry, r.Fence, r.MasterKey = ReadEntry, 12, LastEntry, true, key
			},
			func(r *Request) { r.Operation, r.AuthPlugin, r.Body = Auth, "none", []byte("x") },
		} {
			r := base
			change(&r)
			all = append(all, &r)
		}
	}
	return append(all,
		&Request{Version: Version3, Operation: ReadEntry, Ledger: 1, Entry: -1, Piggyback: true, PreviousLAC: 3, TimeoutMS: 1000},
		&Request{Version: Version3, Operation: WriteLAC, Ledger: 1, Entry: 3, MasterKey: key, Body: []byte("lac"), PreviousLAC: NoLAC},
		&Request{Version: Version3, Operation: ReadLAC, Ledger: 1, Entry: LastEntry, PreviousLAC: NoLAC},
		&Request{Version: Version3, Operation: GetBookieInfo, Requested: 3, PreviousLAC: NoLAC},
		&Request{Version: Version3, Operation: ForceLedger, Ledger: 1, PreviousLAC: NoLAC},
		&Request{Version: Version3, Operation: ListEntries, Ledger: 1, PreviousLAC: NoLAC},
	)
}

func TestRequestsSurviveTheWire(t *testing.T) {
	for _, r := range requests() {
		frame, err := AppendRequest(nil, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		packet, err := ReadPacket(bytes.NewReader(frame))
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeRequest(packet)
		if err != nil || !reflect.DeepEqual(r, back) {
			t.Errorf("sent %+v\ngot  %+v, %v", r, back, err)
		}
	}
}

func TestResponsesSurviveTheWire(t *testing.T) {
	for _, r := range requests() {
		for _, status := range []Status{OK, NoLedger, NoEntry, Fenced, Unauthorized, IOError} {
			if r.Operation == Auth && status != OK {
				continue // an auth answer has no status in version 2
			}
			answer := r.Answer(status)
			if r.Operation == ReadEntry && status == OK {
				answer.Body = entry(12, 7, "payload")
			}
			frame, err := AppendResponse(nil, answer)
			if err != nil {
				t.Fatalf("%+v: %v", answer, err)
			}
			back, err := DecodeResponse(frame[4:])
			if err != nil {
				t.Fatal(err)
			}
			if back.Status != status || back.Operation != r.Operation || !bytes.Equal(back.Body, answer.Body) || back.Txn != r.Txn {
				t.Errorf("sent %+v\ngot  %+v", answer, back)
			}
			if (r.Operation == ReadEntry || r.Operation == AddEntry) && back.Correlation() != r.Correlation() {
				t.Errorf("request %+v has correlation %x, its answer %x", r, r.Correlation(), back.Correlation())
			}
		}
	}
}

// The layout of version 2 has no description but its bytes.
func TestVersion2Bytes(t *testing.T) {
	read, _ := AppendRequest(nil, &Request{Version: Version2, Operation: ReadEntry, Ledger: 1, Entry: LastEntry, Fence: true, MasterKey: key})
	want := "00000028" + "02020001" + "0000000000000001" + "ffffffffffffffff" + hex.EncodeToString(key)
	if got := hex.EncodeToString(read); got != want {
		t.Errorf("fencing read\n got %s\nwant %s", got, want)
	}
	answer := (&Request{Version: Version2, Operation: AddEntry, Ledger: 1, Entry: 2}).Answer(Fenced)
	added, _ := AppendResponse(nil, answer)
	want = "00000018" + "02010000" + "00000068" + "0000000000000001" + "0000000000000002"
	if got := hex.EncodeToString(added); got != want {
		t.Errorf("refused add\n got %s\nwant %s", got, want)
	}
}

func TestBadPackets(t *testing.T) {
	for name, test := range map[string]struct {
		packet string
		want   error
	}{
		"empty":                 {"", ErrMalformed},
		"version 0":             {"00010000", ErrVersion},
		"version 2, no body":    {"020100", ErrMalformed},
		"add without entry":     {"02010000" + hex.EncodeToString(key), ErrMalformed},
		"read without entry id": {"02020000" + "0000000000000001", ErrMalformed},
		"fence without key":     {"02020001" + "0000000000000001" + "ffffffffffffffff", ErrMalformed},
		"unknown operation":     {"02630000", ErrUnknownOperation},
		"half a protobuf":       {"0a05", ErrMalformed},
		"protobuf version 2":    {"0a0608021002" + "1801", ErrVersion},
		"add, message missing":  {"0a0608031002" + "1801", ErrUnknownOperation},
	} {
		packet, err := hex.DecodeString(test.packet)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeRequest(packet); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	if _, err := ReadPacket(bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff})); !errors.Is(err, ErrTooLarge) {
		t.Errorf("huge length: got %v", err)
	}
	if _, err := ReadPacket(bytes.NewReader([]byte{0, 0, 0, 9, 1})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated frame: got %v", err)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, r := range requests() {
		frame, _ := AppendRequest(nil, r)
		f.Add(frame[4:])
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, err := DecodeRequest(packet)
		if err != nil {
			return
		}
		if _, err := AppendResponse(nil, r.Answer(IOError)); err != nil {
			t.Fatalf("%+v cannot be answered: %v", r, err)
		}
	})
}

func FuzzDecodeResponse(f *testing.F) {
	for _, r := range requests() {
		frame, _ := AppendResponse(nil, r.Answer(OK))
		f.Add(frame[4:])
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		if r, err := DecodeResponse(packet); err == nil && r == nil {
			t.Fatal("neither a response nor an error")
		}
	})
}
