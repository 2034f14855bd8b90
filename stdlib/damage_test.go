package stdlib

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// TestDamagedJSON writes values as JSON and damages the texts with errors that models make. Reading
// a damaged text must return the original value or an error.
func TestDamagedJSON(t *testing.T) {
	read := 0
	const rounds = 20_000
	for seed := range uint64(rounds) {
		d := &damager{rand: rand.New(rand.NewPCG(seed, 6))}
		typ := d.typ(3)
		want := d.value(typ, 3)
		text := d.text(want, typ)
		got, _, wrong := readText(new(vm.Args), text, typ)
		if wrong != "" {
			continue
		}
		read++
		if w, g := written(want), written(got); w != g {
			t.Fatalf("seed %d: reading a %s from\n%s\nwritten value %s\nread value    %s", seed, schema.Text(typ), text, w, g)
		}
	}
	if read < rounds*17/20 {
		t.Errorf("readText accepted only %d of %d texts", read, rounds)
	}
}

// damager generates random types, random values of these types, and damaged texts of the values.
type damager struct {
	rand *rand.Rand
	// Kinds of damage that the current text may have.
	commas, comments, bareKeys, numbers, letters, booleans, twice, entries bool
	open, close                                                            string     // quotes of strings
	top                                                                    value.Slot // the whole value
}

func (d *damager) one(in int) bool { return d.rand.IntN(in) == 0 }

func pick[T any](d *damager, xs ...T) T { return xs[d.rand.IntN(len(xs))] }

func (d *damager) typ(depth int) *value.Type {
	scalars := []func() *value.Type{
		func() *value.Type { return &value.Type{Kind: value.TypeInt} },
		func() *value.Type { return &value.Type{Kind: value.TypeFloat} },
		func() *value.Type { return &value.Type{Kind: value.TypeString} },
		func() *value.Type { return &value.Type{Kind: value.TypeBool} },
		func() *value.Type {
			return &value.Type{Kind: value.TypeUnion, Values: []string{"good", "Bad", "so-so", "n/a"}}
		},
	}
	if depth == 0 {
		return pick(d, scalars...)()
	}
	switch d.rand.IntN(6) {
	case 0:
		return &value.Type{Kind: value.TypeArray, Args: []*value.Type{d.typ(depth - 1)}}
	case 1:
		return &value.Type{Kind: value.TypeMap, Args: []*value.Type{{Kind: value.TypeString}, d.typ(depth - 1)}}
	case 2:
		return &value.Type{Kind: value.TypeTuple, Args: []*value.Type{d.typ(depth - 1), d.typ(depth - 1)}}
	case 3:
		e := &value.Type{Kind: value.TypeEnum, Name: "E", Variants: []value.Variant{{Name: "Plain"}, {Name: "other"},
			{Name: "With", Fields: []value.Field{{Name: "0", Type: d.typ(depth - 1)}}}}}
		e.Seal()
		return e
	default:
		t := &value.Type{Kind: value.TypeSchema, Name: "S"}
		for i := range 1 + d.rand.IntN(4) {
			f := value.Field{Name: pick(d, "label", "n", "item_count", "kebab-case", "Größe") + strings.Repeat("x", i), Type: d.typ(depth - 1)}
			if d.one(4) {
				f.Type, f.Optional = &value.Type{Kind: value.TypeOption, Args: []*value.Type{f.Type}}, true
			}
			t.Fields = append(t.Fields, f)
		}
		return t
	}
}

// damageWords contains words with characters that occur in damaged texts.
var damageWords = []string{"", "a", "it's", `say "hi"`, "a, b", "{x}", "[1]", "// no", "# no", "/* no */", "line\nline", "tab\t", `back\slash`, "true", "nil",
	"12", "0x1", "“curly”", "‘single’", "```", "```json\n{}\n```", "key: value", "ends with,", "…", "...", "}", "]", "yes", "é", "\u2028", `\d+`, `\u12`, "$x", "`tick`"}

func (d *damager) value(t *value.Type, depth int) value.Slot {
	switch t.Kind {
	case value.TypeInt:
		return value.Int(pick(d, 0, 1, -1, 42, 1e15, -7, int64(d.rand.Uint64())))
	case value.TypeFloat:
		return value.Float(pick(d, 0, 1, -1.5, 2.5e10, 1e-7, 3))
	case value.TypeString:
		return value.String(pick(d, damageWords...) + pick(d, damageWords...))
	case value.TypeBool:
		return value.Bool(d.one(2))
	case value.TypeUnion:
		return value.String(pick(d, t.Values...))
	case value.TypeOption:
		if d.one(2) {
			return value.Nil
		}
		return d.value(t.Args[0], depth)
	case value.TypeArray:
		a := value.NewArray()
		for range d.rand.IntN(4) {
			a.Push(d.value(t.Args[0], depth-1))
		}
		return a.Slot()
	case value.TypeMap:
		m := value.NewMap(0)
		for range d.rand.IntN(4) {
			m.SetString(pick(d, damageWords...)+pick(d, "k", "key", "7"), d.value(t.Args[1], depth-1))
		}
		return m.Slot()
	case value.TypeTuple:
		return value.Tuple(d.value(t.Args[0], depth-1), d.value(t.Args[1], depth-1))
	case value.TypeEnum:
		n := d.rand.IntN(3)
		if n == 2 {
			return t.Enum(2, d.value(t.Variants[2].Fields[0].Type, depth-1))
		}
		return t.Enum(n)
	}
	var slots []value.Slot
	for _, f := range t.Fields {
		slots = append(slots, d.value(f.Type, depth-1))
	}
	return t.Struct(slots...)
}

// text writes v as JSON with errors that models make.
func (d *damager) text(v value.Slot, t *value.Type) string {
	d.commas, d.comments, d.bareKeys = d.one(3), d.one(4), d.one(3)
	d.numbers, d.letters, d.booleans, d.twice = d.one(4), d.one(4), d.one(4), false
	d.open, d.close, d.entries = `"`, `"`, d.one(3)
	switch d.rand.IntN(6) {
	case 0:
		d.open, d.close = "'", "'"
	case 1:
		d.open, d.close = "“", "”"
	}
	var s string
	d.top = v
	if a := v.Array(); a != nil && a.Len > 1 && d.one(3) {
		for i := range a.Len { // one element a line (NDJSON)
			s += d.json(a.At(i), t.Args[0]) + "\n"
		}
	} else {
		s = d.json(v, t)
		if d.one(4) {
			s = strings.TrimRight(s, "]} \n")
		}
	}
	switch d.rand.IntN(6) {
	case 0:
		s = "Here is what you asked for:\n\n```json\n" + s + "\n```\nTell me if it's wrong."
	case 1:
		s = "Sure (it's short): " + s
	case 2:
		s += "\n\nIs that what you wanted? It's [almost] right."
	case 3:
		s = "```\n" + s
	}
	return s
}

func (d *damager) gap() string {
	if d.comments && d.one(4) {
		return pick(d, " // it's a \"remark\"\n", " /* one, two */ ", " # {here}\n")
	}
	return pick(d, "", "", " ", "\n  ")
}

func (d *damager) comma(last bool) string {
	if last && !(d.commas && d.one(2)) {
		return d.gap()
	}
	return d.gap() + "," + d.gap()
}

func (d *damager) string(s string) string {
	b := string(value.AppendString(nil, s))
	if d.open == `"` {
		if d.commas && d.one(2) {
			b = strings.ReplaceAll(b, `\n`, "\n") // a raw line end
		}
		if strings.Contains(s, `\`) {
			return string(value.AppendString(nil, s))
		}
		return b
	}
	inside := b[1 : len(b)-1]
	if d.open == "'" {
		inside = strings.ReplaceAll(inside, "'", `\'`)
	} else if strings.ContainsAny(s, "“”") {
		return string(value.AppendString(nil, s))
	}
	return d.open + inside + d.close
}

func (d *damager) key(s string) string {
	plain := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzGö_ß-") == "" && s[0] != '-'
	if d.bareKeys && plain {
		return s
	}
	return d.string(s)
}

func (d *damager) scalar(v value.Slot, t *value.Type) string {
	plain := string(value.AppendJSON(nil, v))
	switch {
	case v.Kind() == value.KindString && t.Kind == value.TypeUnion && d.letters:
		return d.string(pick(d, strings.ToUpper, strings.ToLower, func(s string) string { return " " + s })(v.AsString()))
	case v.Kind() == value.KindString:
		return d.string(v.AsString())
	case v.Kind() == value.KindBool && d.booleans:
		return pick(d, map[bool]string{true: "True", false: "False"}[v.AsBool()], d.string(map[bool]string{true: "Yes", false: "no"}[v.AsBool()]), d.string(plain))
	case (v.Kind() == value.KindInt || v.Kind() == value.KindFloat) && d.numbers && d.one(2):
		return d.string(plain)
	}
	return plain
}

func (d *damager) json(v value.Slot, t *value.Type) string {
	var parts []string
	closing := "]"
	add := func(s string) { parts = append(parts, d.gap()+s) }
	member := func(name string, v value.Slot, t *value.Type) {
		add(d.key(name) + d.gap() + ":" + d.gap() + d.json(v, t))
	}
	switch {
	case v.IsNil():
		return "null"
	case t.Kind == value.TypeOption:
		return d.json(v, t.Args[0])
	case t.Kind == value.TypeArray:
		for i := range v.Array().Len {
			add(d.json(v.Array().At(i), t.Args[0]))
		}
	case t.Kind == value.TypeMap && d.entries && v != d.top:
		v.Map().Each(func(k, x value.Slot) bool {
			key, val := d.key("key")+":"+d.gap()+d.string(k.AsString()), d.key("value")+":"+d.gap()+d.json(x, t.Args[1])
			if d.one(4) {
				key, val = val, key
			}
			add("{" + key + "," + d.gap() + val + "}")
			return true
		})
	case t.Kind == value.TypeTuple:
		for i, f := range v.Fields() {
			add(d.json(f, t.Args[i]))
		}
	case t.Kind == value.TypeMap:
		closing = "}"
		v.Map().Each(func(k, x value.Slot) bool {
			member(k.AsString(), x, t.Args[1])
			return true
		})
	case t.Kind == value.TypeEnum:
		if v.Variant() < 2 {
			return d.string(t.Variants[v.Variant()].Name)
		}
		closing = "}"
		member("variant", value.String("With"), &value.Type{Kind: value.TypeString})
		member("data", v.Fields()[0], t.Variants[2].Fields[0].Type)
	case t.Kind == value.TypeSchema:
		closing = "}"
		for i, f := range v.Fields() {
			if f.IsNil() && d.one(2) {
				continue
			}
			member(t.Fields[i].Name, f, t.Fields[i].Type)
		}
	default:
		return d.scalar(v, t)
	}
	s := map[string]string{"]": "[", "}": "{"}[closing]
	for i, p := range parts {
		s += p + d.comma(i == len(parts)-1)
	}
	return s + closing
}

// BenchmarkReadDamaged measures reading a megabyte of damaged JSON.
func BenchmarkReadDamaged(b *testing.B) {
	row := &value.Type{Kind: value.TypeSchema, Name: "Row", Fields: []value.Field{{Name: "id", Type: intType}, {Name: "label", Type: moodType},
		{Name: "text", Type: stringType}, {Name: "tags", Type: &value.Type{Kind: value.TypeArray, Args: []*value.Type{stringType}}}}}
	rows := &value.Type{Kind: value.TypeArray, Args: []*value.Type{row}}
	var s strings.Builder
	s.WriteString("Here you are:\n```json\n[\n")
	for i := 0; s.Len() < 1<<20; i++ {
		fmt.Fprintf(&s, "  {id: \"%d\", 'label': 'Good', // row %d\n   “text”: “it is a line of text, like any other”, \"tags\": ['a', \"b\",],},\n", i, i)
	}
	text := s.String()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, _, wrong := readText(new(vm.Args), text, rows); wrong != "" {
			b.Fatal(wrong)
		}
	}
}
