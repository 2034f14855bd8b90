package jcs

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// appendSorted appends the canonical form of text to dst without decoding it. It omits the
// top-level members named omit, unless omit is "". It returns false for texts that need decoding:
// those with other forms of strings, with fractions, with unusual or repeated names of members, and
// those that are not JSON.
func appendSorted(dst, text []byte, omit string) ([]byte, bool) {
	if !utf8.Valid(text) {
		return nil, false
	}
	w := rewriter{out: dst, rest: text, omit: omit}
	if !w.value(mostDepth) {
		return nil, false
	}
	w.skipSpace()
	return w.out, len(w.rest) == 0
}

// rewriter copies a text and sorts the members of its objects.
type rewriter struct {
	out     []byte
	rest    []byte
	omit    string // name of the member that the outermost object omits; "" means none
	members []member
	scratch []byte
}

// member is a member of an object that is being copied. from and to are its offsets in the output.
type member struct {
	name     []byte
	from, to int
}

func (w *rewriter) skipSpace() { w.rest = bytes.TrimLeft(w.rest, " \t\r\n") }

// next removes c from the rest if it is the next byte that is not white space.
func (w *rewriter) next(c byte) bool {
	w.skipSpace()
	if len(w.rest) == 0 || w.rest[0] != c {
		return false
	}
	w.rest = w.rest[1:]
	return true
}

// value copies a value.
func (w *rewriter) value(depth int) bool {
	w.skipSpace()
	if len(w.rest) == 0 || depth == 0 {
		return false
	}
	switch w.rest[0] {
	case '{':
		return w.object(depth - 1)
	case '[':
		return w.array(depth - 1)
	}
	rest, ok := skipValue(w.rest, 1)
	if ok {
		w.out = append(w.out, w.rest[:len(w.rest)-len(rest)]...)
		w.rest = rest
	}
	return ok
}

func (w *rewriter) array(depth int) bool {
	w.rest = w.rest[1:]
	w.out = append(w.out, '[')
	if w.next(']') {
		w.out = append(w.out, ']')
		return true
	}
	for {
		if !w.value(depth) {
			return false
		}
		if w.next(']') {
			w.out = append(w.out, ']')
			return true
		}
		if !w.next(',') {
			return false
		}
		w.out = append(w.out, ',')
	}
}

// object copies the members of an object, and then sorts the copies.
func (w *rewriter) object(depth int) bool {
	w.rest = w.rest[1:]
	w.out = append(w.out, '{')
	if w.next('}') {
		w.out = append(w.out, '}')
		return true
	}
	outermost, first, start := depth == mostDepth-1, len(w.members), len(w.out)
	for {
		name, ok := w.memberName()
		if !ok {
			return false
		}
		from := len(w.out)
		w.out = append(append(append(w.out, '"'), name...), '"', ':')
		if !w.value(depth) {
			return false
		}
		w.out = append(w.out, ',')
		if outermost && w.omit != "" && string(name) == w.omit {
			w.out = w.out[:from]
		} else {
			w.members = append(w.members, member{name, from, len(w.out)})
		}
		if w.next('}') {
			break
		}
		if !w.next(',') {
			return false
		}
	}
	unique := w.sort(w.members[first:], start)
	w.members = w.members[:first]
	w.out = append(bytes.TrimSuffix(w.out, []byte(",")), '}')
	return unique
}

// memberName reads the name of a member and the colon after it.
func (w *rewriter) memberName() (name []byte, ok bool) {
	w.skipSpace()
	name, rest, ok := skipText(w.rest)
	if !ok || bytes.IndexFunc(name, notPlain) >= 0 {
		return nil, false
	}
	w.rest = rest
	return name, w.next(':')
}

// byName sorts members. The functions of package slices would be linked once more for this type:
// 14 KB in each program.
type byName []member

func (m byName) Len() int           { return len(m) }
func (m byName) Less(i, j int) bool { return bytes.Compare(m[i].name, m[j].name) < 0 }
func (m byName) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// sort sorts the members that were copied to the end of the output, which begins at start. It
// returns false if a name is repeated.
func (w *rewriter) sort(all []member, start int) bool {
	if named := byName(all); !sort.IsSorted(named) {
		sort.Sort(named)
		w.scratch = w.scratch[:0]
		for _, m := range all {
			w.scratch = append(w.scratch, w.out[m.from:m.to]...)
		}
		copy(w.out[start:], w.scratch)
	}
	for i := 1; i < len(all); i++ {
		if bytes.Equal(all[i-1].name, all[i].name) {
			return false
		}
	}
	return true
}
