package otlp

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The bytes were written by hand from the documentation of the encoding, not by this code.
func TestWire(t *testing.T) {
	m := message{
		{1, "name", "testing"},
		{2, "count", integer(150)},
		{3, "negative", integer(-2)},
		{16, "ok", true},
		{5, "time", fixed64(1)},
		{6, "flags", fixed32(0x0102)},
		{7, "id", id{0xab}},
		{8, "inner", message{{1, "x", number(0)}}},
	}
	want := "0a0774657374696e67" + "109601" + "18feffffffffffffffff01" + "800101" +
		"290100000000000000" + "3502010000" + "3a01ab" + "42020800"
	if diff := cmp.Diff(want, hex.EncodeToString(m.appendProto(nil))); diff != "" {
		t.Errorf("the message differs (-want +got):\n%s", diff)
	}
}

func TestFields(t *testing.T) {
	whole := message{
		{1, "n", integer(300)},
		{2, "reason", "full"},
		{3, "a", fixed64(7)},
		{4, "b", fixed32(7)},
		{5, "last", integer(-1)},
	}.appendProto(nil)
	want := map[int]wireField{1: {number: 300}, 2: {bytes: []byte("full")}, 3: {}, 4: {}, 5: {number: 1<<64 - 1}}
	if diff := cmp.Diff(want, fields(whole), cmp.AllowUnexported(wireField{})); diff != "" {
		t.Errorf("the fields differ (-want +got):\n%s", diff)
	}
	// A part of a message has the fields before its end, with their values.
	for end := range whole {
		for n, f := range fields(whole[:end]) {
			if diff := cmp.Diff(want[n], f, cmp.AllowUnexported(wireField{})); diff != "" {
				t.Errorf("%d bytes: field %d differs (-want +got):\n%s", end, n, diff)
			}
		}
	}
	for _, damaged := range []string{
		"",
		"0affffffffffffffffff01",   // longer than any message
		"0a05616263",               // its bytes are missing
		"0b08010c",                 // a group
		"0f",                       // no wire type
		"08ffffffffffffffffffff01", // a varint of more than 64 bits
	} {
		b, err := hex.DecodeString(damaged)
		if err != nil {
			t.Fatal(err)
		}
		if got := fields(b); len(got) != 0 {
			t.Errorf("%s: fields = %v, want none", damaged, got)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		_ = fields(b)
	}
}
