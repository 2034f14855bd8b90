package value

import (
	"strconv"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Difference is a part in which two values differ. Path is the path to it, such as "[1].name", or
// "" for the whole value. A and B are the two parts as JSON. For long strings, they contain the
// text around the first difference. If only one value has the part, the other is "".
type Difference struct {
	Path string
	A, B string
}

// DiffIn returns the first limit differences between a and b, in the order of a. A Pace can
// interrupt it.
func DiffIn(p *Pace, a, b Slot, limit int) []Difference {
	d := differ{limit: limit, pace: p}
	d.compare("", a, b)
	return d.found
}

type differ struct {
	found []Difference
	limit int
	pace  *Pace
}

func (d *differ) add(path, a, b string) {
	if len(d.found) < d.limit {
		d.found = append(d.found, Difference{path, a, b})
	}
}

func (d *differ) addValues(path string, a, b Slot) { d.add(path, d.format(a), d.format(b)) }

// maxWritten limits the displayed part of one value, in bytes.
const maxWritten = 240

// format returns a value as JSON of at most maxWritten bytes.
func (d *differ) format(s Slot) string {
	return cut(string(AppendJSONWithin(nil, s, &Bound{Pace: d.pace})))
}

func cut(s string) string {
	if len(s) <= maxWritten {
		return s
	}
	return s[:utf8cut.Before(s, maxWritten)] + "…"
}

func (d *differ) compare(path string, a, b Slot) {
	if len(d.found) >= d.limit || EqualIn(d.pace, a, b) {
		return
	}
	x, y := Flatten(a), Flatten(b)
	if EqualIn(d.pace, x, y) { // Some(nil) is not nil
		some := map[bool]string{true: "Some(", false: "("}
		d.add(path, some[a.Kind() == KindSome]+d.format(x)+")", some[b.Kind() == KindSome]+d.format(y)+")")
		return
	}
	a, b = x, y
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		d.addValues(path, a, b)
		return
	}
	switch ka {
	case KindString:
		d.compareTexts(path, a.AsString(), b.AsString())
	case KindArray:
		x, y := a.Array(), b.Array()
		d.compareLists(path, x.Len, y.Len, x.At, y.At, func(i int) string { return "[" + strconv.Itoa(i) + "]" })
	case KindTuple:
		d.compareBlocks(path, a, b, nil)
	case KindMap:
		d.compareMaps(path, a.Map(), b.Map())
	case KindStruct:
		if a.Type() != b.Type() {
			d.addValues(path, a, b)
			return
		}
		d.compareBlocks(path, a, b, a.Type().Fields)
	case KindEnum:
		if a.Variant() != b.Variant() || !sameEnum(a.Type(), b.Type()) {
			d.addValues(path, a, b)
			return
		}
		v := a.Type().Variants[a.Variant()]
		fields := v.Fields
		if !v.Named {
			fields = nil
		}
		d.compareBlocks(path+"."+v.Name, a, b, fields)
	default:
		d.addValues(path, a, b)
	}
}

// compareLists compares two lists element by element. An element that only one list has is a
// difference.
func (d *differ) compareLists(path string, n, m int, x, y func(int) Slot, step func(int) string) {
	for i := range max(n, m) {
		switch {
		case i >= m:
			d.add(path+step(i), d.format(x(i)), "")
		case i >= n:
			d.add(path+step(i), "", d.format(y(i)))
		default:
			d.compare(path+step(i), x(i), y(i))
		}
	}
}

// compareBlocks compares the slots of tuples, structs and variants. Paths contain the names of
// fields, or indexes if fields is nil.
func (d *differ) compareBlocks(path string, a, b Slot, fields []Field) {
	x, y := a.Fields(), b.Fields()
	if fields != nil {
		x, y = x[:len(fields)], y[:len(fields)] // the source of an error comes after its fields and is not compared
	}
	d.compareLists(path, len(x), len(y), func(i int) Slot { return x[i] }, func(i int) Slot { return y[i] }, func(i int) string {
		if fields != nil {
			return "." + fields[i].Name
		}
		return "." + strconv.Itoa(i)
	})
}

func (d *differ) compareMaps(path string, a, b *Map) {
	step := func(k Slot) string {
		if k.Kind() == KindString && isWord(k.AsString()) {
			return path + "." + k.AsString()
		}
		return path + "[" + d.format(k) + "]"
	}
	a.Each(func(k, v Slot) bool {
		if w, ok := b.Get(k); ok {
			d.compare(step(k), v, w)
		} else {
			d.add(step(k), d.format(v), "")
		}
		return true
	})
	b.Each(func(k, v Slot) bool {
		if _, ok := a.Get(k); !ok {
			d.add(step(k), "", d.format(v))
		}
		return true
	})
}

func isWord(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// aroundText is the number of bytes before and after the first difference of two texts that are
// displayed.
const aroundText = 40

// compareTexts compares two strings. It displays short strings completely, and long ones only
// around the first difference.
func (d *differ) compareTexts(path, a, b string) {
	if len(a) <= 2*aroundText && len(b) <= 2*aroundText {
		d.add(path, string(AppendString(nil, a)), string(AppendString(nil, b)))
		return
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	for same > 0 && (same < len(a) && !utf8.RuneStart(a[same]) || same < len(b) && !utf8.RuneStart(b[same])) {
		same--
	}
	at := path + " from character " + strconv.Itoa(utf8.RuneCountInString(a[:same])) + " on"
	d.add(at, window(a, same), window(b, same))
}

// window returns the part of a text around offset at as JSON, with … where text is omitted.
func window(s string, at int) string {
	from, to := max(at-aroundText, 0), min(at+aroundText, len(s))
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	out := string(AppendString(nil, s[from:to]))
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}
