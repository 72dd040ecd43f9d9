package jute

import (
	"bytes"
	"testing"
)

func TestFieldsComeBack(t *testing.T) {
	e := NewEncoder(nil)
	e.Bool(true)
	e.Int(-7)
	e.Long(1 << 40)
	e.Buffer(nil)
	e.Buffer([]byte{})
	e.String("päth")
	e.Strings([]string{"a", ""})
	start := e.Frame()
	e.Raw([]byte{1, 2, 3})
	e.EndFrame(start)
	d := NewDecoder(e.Bytes())
	if !d.Bool() || d.Int() != -7 || d.Long() != 1<<40 || d.Buffer() != nil {
		t.Error("bool, int, long, null buffer")
	}
	if empty := d.Buffer(); empty == nil || len(empty) != 0 {
		t.Error("an empty buffer is not null")
	}
	if d.String() != "päth" || len(d.Strings()) != 2 || d.Int() != 3 || !bytes.Equal(d.Raw(3), []byte{1, 2, 3}) || d.Err() != nil {
		t.Error("string, vector, frame")
	}
}

func TestDecoderRefuses(t *testing.T) {
	for name, read := range map[string]func(*Decoder){
		"a negative length":          func(d *Decoder) { d.Buffer() },
		"a negative count":           func(d *Decoder) { d.Strings() },
		"a count that cannot be":     func(d *Decoder) { d.Raw(4); d.Strings() },
		"a length beyond the record": func(d *Decoder) { d.Raw(4); d.Buffer() },
	} {
		d := NewDecoder([]byte{0xff, 0xff, 0xff, 0xf0, 0x7f, 0xff, 0xff, 0xff})
		if read(d); d.Err() != ErrMalformed {
			t.Errorf("%s: %v", name, d.Err())
		}
		if d.Int() != 0 || d.String() != "" {
			t.Errorf("%s: reads go on after the error", name)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 'x', 0, 0, 0, 2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, uint16(0b1011))
	f.Fuzz(func(t *testing.T, record []byte, order uint16) {
		d := NewDecoder(record)
		for i := range 16 {
			before := len(d.Rest())
			switch (order >> i) % 5 {
			case 0:
				d.Int()
			case 1:
				_ = d.String()
			case 2:
				if values := d.Strings(); len(values) > len(record) {
					t.Fatalf("%d strings out of %d bytes", len(values), len(record))
				}
			case 3:
				d.Long()
			case 4:
				d.Bool()
			}
			if len(d.Rest()) > before {
				t.Fatal("a read gave bytes back")
			}
		}
	})
}
