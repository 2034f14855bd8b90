package stdlib

import (
	"bytes"
	"slices"
	"strings"
)

// Only those declarations of the library that a program uses are parsed. For that, a file is cut to
// a slice: its text with all lines emptied except those of some declarations, so lines and columns
// stay the same. The layout alone determines where declarations begin and end. A declaration begins
// in column 1, a method after four spaces; comments and decorators above belong to it. It ends with
// the first line of the same indentation that ends in `}` or `;`. A test compares this with the
// parser's result for every file.

// part is a declaration or a method: its name and its lines.
type part struct {
	name     string
	from, to int
	head     span // for a method: the first line of its impl
	foot     span // for a method: the last line of its impl
}

type span struct{ from, to int }

// text is the text of a library file, with its parts in order.
type text struct {
	all   []byte
	parts []part
}

// layout finds the parts of a file.
func layout(all []byte) *text {
	t := &text{all: all}
	t.scan(0, len(all), "")
	return t
}

// scan finds the parts between two offsets with the given indentation. For an impl it finds the
// members instead.
func (t *text) scan(from, end int, indent string) {
	begin, name := -1, ""
	for at := from; at < end; {
		next := at + bytes.IndexByte(t.all[at:end], '\n') + 1
		if next <= at {
			next = end
		}
		line, ours := strings.CutPrefix(string(t.all[at:next]), indent)
		line = strings.TrimRight(line, "\n")
		blank := strings.TrimSpace(line) == ""
		switch {
		case blank && name == "":
			begin = -1 // a separate comment belongs to no declaration
		case blank || !ours || line[0] == ' ':
		case strings.HasPrefix(line, "//"):
			if begin < 0 {
				begin = at
			}
		default:
			if begin < 0 {
				begin = at
			}
			if name == "" {
				name = declaredName(line)
			}
			if c := line[len(line)-1]; c != '}' && c != ';' {
				break
			}
			if name == "impl" {
				t.members(begin, next)
			} else {
				t.parts = append(t.parts, part{name: name, from: begin, to: next})
			}
			begin, name = -1, ""
		}
		at = next
	}
}

// members finds the methods of the impl at [from, end), whose first and last lines are its head and
// foot.
func (t *text) members(from, end int) {
	head := span{from, from + bytes.IndexByte(t.all[from:end], '\n') + 1}
	for !bytes.HasPrefix(t.all[head.from:head.to], []byte("impl")) { // comments above it
		head = span{head.to, head.to + bytes.IndexByte(t.all[head.to:end], '\n') + 1}
	}
	foot := span{end - len("}\n"), end}
	first := len(t.parts)
	t.scan(head.to, foot.from, "    ")
	for i := first; i < len(t.parts); i++ {
		t.parts[i].head, t.parts[i].foot = head, foot
	}
}

// declaredName returns the name that a line declares, "impl" for an impl, "" for a line with only a
// decorator.
func declaredName(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '(' || r == '<' || r == ':' })
	for i, w := range words {
		switch w {
		case "impl":
			return w
		case "fn", "struct", "schema", "type", "const", "tool":
			return words[i+1]
		}
	}
	return ""
}

// slice returns the file's text reduced to the declarations or methods with this name, up to the
// last of them; nil if there are none.
func (t *text) slice(name string) []byte {
	var spans []span
	for _, p := range t.parts {
		if p.name == name {
			spans = append(spans, p.head, span{p.from, p.to}, p.foot)
		}
	}
	// Two methods of an impl share its head and foot.
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, s := range slices.Compact(spans) {
		if s.to == 0 {
			continue // a declaration that is not a method has no head
		}
		for range bytes.Count(t.all[at:s.from], newline) {
			out = append(out, '\n')
		}
		out = append(out, t.all[s.from:s.to]...)
		at = s.to
	}
	return out
}

var newline = []byte{'\n'}
