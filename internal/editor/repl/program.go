package repl

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// layoutProgram combines the program and an input. If valued is set, the input's last expression is
// bound to a variable, otherwise it is a statement.
func (s *Session) layoutProgram(in *input, valued bool) *layout {
	l := &layout{}
	s.addDeclarations(l)
	l.addRaw("\nfn " + sessionName + "() {\n")
	for _, b := range s.lets {
		l.addPieces(b.file, b.pieces)
		l.addRaw("\n")
	}
	if in != nil && !in.bare {
		l.addRaw("let " + lineName + " = || {\n")
		l.addPieces(in.file, in.statements(valued))
		l.addRaw("\n")
		if names := in.bindings(valued); len(names) > 0 {
			l.addRaw("let " + boundName + " = || { " + strings.Join(names, "; ") + "; };\n" + boundName + "\n")
		}
		l.addRaw("};\n")
	}
	l.addRaw("}\n")
	return l
}

func (s *Session) addDeclarations(l *layout) {
	if s.base != nil {
		at := source.Pos(0)
		for _, d := range s.hidden {
			if d.at.Start < at {
				continue
			}
			l.add(s.base, source.Span{Start: at, End: d.at.Start})
			l.addRaw(strings.Repeat("\n", strings.Count(s.base.Slice(d.at), "\n")))
			at = d.at.End
		}
		l.add(s.base, source.Span{Start: at, End: source.Pos(len(s.base.Text))})
		l.addRaw("\n")
	}
	for _, d := range s.decls {
		l.add(d.file, d.at)
		l.addRaw("\n")
	}
}

// statements returns the statements of an input. If valued is set, the last one is assigned to the
// name of the last value.
func (in *input) statements(valued bool) []piece {
	if in.tail < 0 || !valued {
		return in.stmts
	}
	out := slices.Clone(in.stmts[:in.tail])
	out = append(out, piece{at: source.Span{Start: in.stmts[in.tail].at.Start, End: in.stmts[in.tail].at.Start}, text: "let " + lastName + " = "})
	return append(out, in.stmts[in.tail:]...)
}

// bindings returns the names that an input binds.
func (in *input) bindings(valued bool) (names []string) {
	for i, name := range in.names {
		if !slices.Contains(in.names[i+1:], name) {
			names = append(names, name)
		}
	}
	if in.tail >= 0 && valued {
		names = append(names, lastName)
	}
	return names
}

// Save returns the declarations and statements of the session as a program.
func (s *Session) Save() string {
	l := &layout{}
	s.addDeclarations(l)
	text := l.text.String()
	b := &strings.Builder{}
	b.WriteString(strings.TrimLeft(text, "\n"))
	if len(s.script) > 0 && !slices.ContainsFunc(append(slices.Clone(s.own), s.decls...), func(d *declaration) bool { return d.name == "main" && !slices.Contains(s.hidden, d) }) {
		b.WriteString("\nfn main() {\n")
		for _, x := range s.script {
			part := &layout{}
			part.addPieces(x.file, x.pieces)
			for line := range strings.Lines(strings.ReplaceAll(strings.TrimSpace(part.text.String()), lastName, "_last") + "\n") {
				b.WriteString("  " + line)
			}
		}
		b.WriteString("}\n")
	}
	return b.String()
}
