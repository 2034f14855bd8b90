package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// asleep returns a run with n running timers.
func asleep(n int) *Run {
	r := &Run{flights: newFlights()}
	for e := range int64(n) {
		q := &effect.Sleep{Milliseconds: 3600000 + e}
		f := &inFlight{e: e + 1, tries: 1}
		f.begin = &journal.Record{S: uint64(e) + 2, T: 1795313808930, K: journal.KBegin, E: e + 1, P: e + 2, Q: "sleep", C: "waits", Asked: journal.Asked{R: fmt.Appendf(nil, `{"ms":%d}`, q.Milliseconds), Due: 1795317408930 + e}}
		f.begin.D = hexsum.SHA256(f.begin.R)[:32]
		r.flights.all[q] = f
	}
	return r
}

// TestBeginRecordsAreRestored restores the begin records of running effects from a snapshot. Simple
// timers are stored as numbers. Timers with additional content, and other effects, are stored as
// complete records. The restored records must be in the original order.
func TestBeginRecordsAreRestored(t *testing.T) {
	r := asleep(9)
	for q, f := range r.flights.all {
		switch f.e {
		case 3:
			f.policy, f.begin.Policy = "retry", "retry"
		case 5:
			f.tries = 2
		case 7:
			f.until = 5
		case 8:
			f.begin.R = json.RawMessage(`{"ms":1,"more":2}`)
			f.begin.D = hexsum.SHA256(f.begin.R)[:32]
		case 9:
			delete(r.flights.all, q)
			f.begin.Q = "emit.await"
			r.flights.all[&effect.AwaitEmit{}] = f
		}
	}
	s := &State{}
	r.underWay(s)
	if timers, err := unpackSleeps(s.Sleeps); len(timers) != 4 || len(s.Begun) != 5 || err != nil {
		t.Fatalf("packed timers = %d, want 4; other effects = %d, want 5; error: %v", len(timers), len(s.Begun), err)
	}
	text, err := jsonwrite.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	decoded := &State{}
	if err := json.Unmarshal(text, decoded); err != nil {
		t.Fatal(err)
	}
	if twice, err := jsonwrite.Encode(decoded); err != nil || !bytes.Equal(twice, text) {
		t.Errorf("encoded state = %s, after decoding and encoding = %s; error: %v", text, twice, err)
	}
	cut := *decoded
	if cut.Sleeps = cut.Sleeps[:len(cut.Sleeps)-1]; cut.unpack() == nil {
		t.Error("unpack accepted incomplete timers, want an error")
	}
	if err := decoded.unpack(); err != nil || len(decoded.Begun) != 9 {
		t.Fatalf("unpack restored %d effects, want 9; error: %v", len(decoded.Begun), err)
	}
	all := decoded.Begun
	for e := range int64(9) {
		var was *inFlight
		for _, f := range r.flights.all {
			if f.e == e+1 {
				was = f
			}
		}
		if x := all[e]; !reflect.DeepEqual(x.Record, was.begin) || x.Tries != was.tries || x.Until != was.until {
			t.Errorf("restored effect %d = %+v, want the begin record %+v", e+1, x, was.begin)
		}
	}
}

func BenchmarkUnderWay(b *testing.B) {
	r := asleep(10_000)
	s := &State{}
	r.underWay(s)
	text, err := jsonwrite.Encode(s)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			s := &State{}
			r.underWay(s)
			if _, err := jsonwrite.Encode(s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			s := &State{}
			if err := errors.Join(json.Unmarshal(text, s), s.unpack()); err != nil || len(s.Begun) != 10_000 {
				b.Fatal(err)
			}
		}
	})
}
