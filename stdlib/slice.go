package stdlib

import (
	"bytes"
	"slices"
	"strings"
)

// The library parses only the declarations that a program uses. For that it reduces a file to a
// slice: the text of some declarations, with all other lines empty, so that line and column numbers
// stay the same. Only the layout determines where declarations begin and end. A declaration begins
// in column 1, and a method after four spaces. Preceding comments and decorators belong to it. It
// ends with the first line of the same indentation that ends in `}` or `;`. A test compares the
// result with that of the parser for every file.

// part is a declaration or a method: its name and the offsets of its lines.
type part struct {
	name     string
	from, to int
	head     span // for a method: first line of its impl; zero for a declaration
	foot     span // for a method: last line of its impl; zero for a declaration
}

type span struct{ from, to int }

// text is the text of a library file, with its parts in order.
type text struct {
	all   []byte
	parts []part
}

// layout returns the text with its parts.
func layout(all []byte) *text {
	t := &text{all: all}
	t.scan(0, len(all), "")
	return t
}

// scan adds the parts between two offsets that have the given indentation. For an impl it adds the
// methods.
func (t *text) scan(from, end int, indent string) {
	begin, name := -1, ""
	for at := from; at < end; {
		next := at + bytes.IndexByte(t.all[at:end], '\n') + 1
		if next <= at {
			next = end
		}
		line, ours := bytes.CutPrefix(t.all[at:next], []byte(indent))
		line = bytes.TrimRight(line, "\n")
		blank := len(bytes.TrimSpace(line)) == 0
		switch {
		case blank && name == "":
			begin = -1 // a comment before an empty line belongs to no declaration
		case blank || !ours || line[0] == ' ':
		case bytes.HasPrefix(line, slashes):
			if begin < 0 {
				begin = at
			}
		default:
			if begin < 0 {
				begin = at
			}
			if name == "" {
				name = declaredName(string(line))
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

// members adds the methods of the impl at [from, end). The first and last lines of the impl become
// their head and foot.
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

// declaredName returns the name that a line declares. It returns "impl" for an impl, and "" for a
// line that contains only a decorator.
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

// slice returns the text reduced to the declarations or methods with this name. The text ends with
// the last of them. It returns nil if there are none.
func (t *text) slice(name string) []byte {
	var spans []span
	for _, p := range t.parts {
		if p.name == name {
			spans = append(spans, p.head, span{p.from, p.to}, p.foot)
		}
	}
	// two methods of one impl have the same head and foot
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, s := range slices.Compact(spans) {
		if s.to == 0 {
			continue // a declaration that is not a method has neither head nor foot
		}
		for range bytes.Count(t.all[at:s.from], newline) {
			out = append(out, '\n')
		}
		out = append(out, t.all[s.from:s.to]...)
		at = s.to
	}
	return out
}

var newline, slashes = []byte("\n"), []byte("//")
