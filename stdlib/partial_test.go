package stdlib

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/complexity"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/vm"
)

// TestPartialValues feeds a damaged text in pieces. Every part that feed returns must be a
// beginning of the complete value, and in most cases the last part must be the complete value.
func TestPartialValues(t *testing.T) {
	whole := 0
	const rounds = 10_000
	for seed := range uint64(rounds) {
		d := &damager{rand: rand.New(rand.NewPCG(seed, 8))}
		typ := d.typ(3)
		want := d.value(typ, 3)
		text := d.text(want, typ)
		if _, _, wrong := readText(new(vm.Args), text, typ); wrong != "" || d.twice || d.mayBeRows(typ) {
			continue
		}
		p, last := newPartial(typ), value.Nil
		for rest := text; rest != ""; {
			n := min(1+d.rand.IntN(9), len(rest))
			part, ok := p.feed(rest[:n])
			if rest = rest[n:]; !ok {
				continue
			}
			if last = part; !isBeginningOf(part, want, typ) {
				t.Fatalf("seed %d, type %s:\n%s\npartial value  %s\ncomplete value %s", seed, schema.Text(typ), text[:len(text)-len(rest)], written(part), written(want))
			}
		}
		if !last.IsNil() && len(written(last)) >= len(written(want))-2 {
			whole++
		}
	}
	if whole < rounds/3 {
		t.Errorf("the last part was the complete value for only %d of %d values", whole, rounds)
	}
}

// TestPartialEntries feeds maps whose entries are the elements of an array, in the wrapper of a
// provider and without one.
func TestPartialEntries(t *testing.T) {
	text, integer := &value.Type{Kind: value.TypeString}, &value.Type{Kind: value.TypeInt}
	of := func(v *value.Type) *value.Type {
		return &value.Type{Kind: value.TypeMap, Args: []*value.Type{text, v}}
	}
	for _, c := range []struct {
		typ        *value.Type
		text, want string
	}{
		{of(integer), `{"value":[{"key":"a","value":1},{"key":"b","value":2`, `{"a":1}`},
		{of(integer), `{"value":[{"value":1,"key":"a"},{"key":"b","value":2}]}`, `{"b":2}`},
		{of(text), `{"value":[{"key":"a","value":"on`, `{"a":"on"}`},
		{of(of(text)), `{"value":[{"key":"a","value":[{"key":"x","value":"y"},{"key":"z","value":"on`, `{"a":{"x":"y","z":"on"}}`},
		{of(integer), `{"value":1,"b":2}`, `{"value":1,"b":2}`},
		{of(text), `{"value":"x","b":"y`, `{"value":"x","b":"y"}`},
		{of(of(text)), `{"value":{"a":"b`, `{"value":{"a":"b"}}`},
		{of(&value.Type{Kind: value.TypeArray, Args: []*value.Type{integer}}), `{"value":[1,2]}`, `{"value":[1,2]}`},
		{of(integer), `{"value":[1,[2],{"key":"a","value":"x"},{"key":"b","value":7}]}`, `{"b":7}`},
	} {
		p, last := newPartial(c.typ), ""
		for i := range len(c.text) {
			if part, ok := p.feed(c.text[i : i+1]); ok {
				last = string(value.AppendJSON(nil, part))
			}
		}
		if last != c.want {
			t.Errorf("%s: %s, want %s", c.text, last, c.want)
		}
	}
}

// mayBeRows reports whether a value of the type may be written as a sequence of its elements, as in
// NDJSON. The start of an element then cannot be distinguished from the start of the array.
func (d *damager) mayBeRows(t *value.Type) bool {
	if t.Kind != value.TypeArray {
		return false
	}
	k := withoutOption(t.Args[0]).Kind
	return k == value.TypeArray || k == value.TypeTuple || k == value.TypeMap && d.entries
}

// isBeginningOf reports whether a part is a beginning of a value of type t.
func isBeginningOf(part, v value.Slot, t *value.Type) bool {
	switch t = withoutOption(t); t.Kind {
	case value.TypeString:
		return part.Str() != nil && v.Str() != nil && strings.HasPrefix(v.AsString(), part.AsString())
	case value.TypeArray:
		a, b := part.Array(), v.Array()
		return a != nil && all(a.Len, b.Len, func(i int) bool { return isBeginningOf(a.At(i), b.At(i), t.Args[0]) })
	case value.TypeTuple:
		a, b := part.Array(), v.Fields()
		return a != nil && all(a.Len, len(b), func(i int) bool { return isBeginningOf(a.At(i), b[i], t.Args[i]) })
	case value.TypeMap:
		m, ok := part.Map(), true
		if m == nil {
			return false
		}
		m.Each(func(k, x value.Slot) bool {
			whole, found := v.Map().Get(k)
			ok = ok && found && isBeginningOf(x, whole, t.Args[1])
			return ok
		})
		return ok
	case value.TypeSchema:
		m, ok := part.Map(), true
		if m == nil {
			return false
		}
		m.Each(func(k, x value.Slot) bool {
			i := t.FieldIndex(k.AsString())
			ok = ok && i >= 0 && isBeginningOf(x, v.Fields()[i], t.Fields[i].Type)
			return ok
		})
		return ok
	case value.TypeEnum:
		return true // the part has the JSON form of the value
	}
	return written(part) == written(v)
}

func all(n, most int, f func(i int) bool) bool {
	for i := range n {
		if i >= most || !f(i) {
			return false
		}
	}
	return true
}

// TestPartialValuesAreLinear checks that the total time for a long list and a long text, which
// arrive in small pieces, is proportional to their length.
func TestPartialValuesAreLinear(t *testing.T) {
	randtest.InOneGoroutine(t)
	list := &value.Type{Kind: value.TypeSchema, Name: "L", Fields: []value.Field{
		{Name: "items", Type: &value.Type{Kind: value.TypeArray, Args: []*value.Type{{Kind: value.TypeMap, Args: []*value.Type{{Kind: value.TypeString}, {Kind: value.TypeInt}}}}}},
		{Name: "text", Type: &value.Type{Kind: value.TypeString}}}}
	complexity.Linear(t, 2_000, func(n int) time.Duration {
		var b strings.Builder
		b.WriteString(`{"text": "` + strings.Repeat("word ", n) + `", "items": [`)
		for i := range n {
			fmt.Fprintf(&b, `{"a": %d},`, i)
		}
		text, p, parts := b.String(), newPartial(list), 0
		took := complexity.CPUTime(func() {
			for i := 0; i < len(text); i += 4 {
				if _, ok := p.feed(text[i:min(i+4, len(text))]); ok {
					parts++
				}
			}
		})
		if parts < n {
			t.Errorf("the value with %d items was returned in %d parts, want at least one for each item", n, parts)
		}
		return took
	})
}
