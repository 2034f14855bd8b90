package driver

import (
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Line is a program for one typed line of an interactive session. The typed text is in a closure,
// which is the value of a variable in one of the program's functions. Only that closure is run.
// Errors that leave the closure are raised, as in main.
type Line struct {
	Request
	// Text replaces the text of the entry file.
	Text string
	// Unit is the name of the entry file in the program's traces.
	Unit string
	// Variable is the name of the variable whose value is the closure. Retained is the name of a
	// variable in that closure; the value of Retained is a closure that captures the values to keep
	// for the following lines.
	Variable, Retained string
}

// CompiledLine is a compiled Line.
type CompiledLine struct {
	Program  *ir.Program
	Number   int        // number of the closure's function; -1 if the program has no such closure
	Captures []Captured // outer variables that the closure uses
	Retained []Captured
}

// Compile checks the program and generates its code. The line is nil if there are errors.
func (l *Line) Compile() (*CompiledLine, diag.List) {
	in, err := l.loadEntry()
	if err != nil {
		return nil, diag.List{}
	}
	in.line = l.Variable
	checked, found := in.checkEntry(0, nil)
	found = in.applyLints(found)
	if found.HasErrors() || checked == nil {
		return nil, found
	}
	c := &CompiledLine{Number: -1}
	called := func(name string) func(string, *ast.Closure) bool {
		return func(is string, _ *ast.Closure) bool { return is == name }
	}
	info, line := closureOf(checked, called(l.Variable))
	if line != nil {
		c.Captures = capturedBy(info.Closure(line))
	}
	if info, retained := closureOf(checked, called(l.Retained)); retained != nil {
		c.Retained = capturedBy(info.Closure(retained))
	}
	data := in.embedded()
	data.Grows = true
	p, more := codegen.Generate(checked, data)
	found.Append(more)
	if more.HasErrors() {
		return nil, found
	}
	c.Program = p
	for i := range p.Files {
		if p.Files[i].Name == in.Entry.Name {
			p.Files[i].Name = l.Unit
		} else if name, ours := in.names[p.Files[i].Name]; ours {
			p.Files[i].Name = name
		}
	}
	if line == nil {
		return c, found
	}
	at := info.File.Source.Position(line.Span().Start).Line
	for n := range p.Functions {
		f := &p.Functions[n]
		if f.Line != at || f.File < 0 || p.Files[f.File].Name != l.Unit || !strings.Contains(f.Name, " closure ") {
			continue
		}
		if c.Number < 0 || len(f.Name) < len(p.Functions[c.Number].Name) {
			c.Number = n
		}
	}
	return c, found
}

// loadEntry loads the program with Text as the text of its entry file.
func (l *Line) loadEntry() (*Input, error) {
	q := l.Request
	q.Plain = true
	if q.Inline != nil {
		src := *q.Inline
		src.Text, src.Body = []byte(l.Text), false
		q.Inline = &src
		return Load(q)
	}
	in, err := Load(q)
	if err != nil || in.Entry == nil {
		return in, err
	}
	q.Overlay = map[string][]byte{filepath.Join(in.Root, filepath.FromSlash(in.EntryName)): []byte(l.Text)}
	return Load(q)
}

// closureOf returns the last closure in the program's own files that is the value of a let
// statement and for which the filter returns true.
func closureOf(p *sema.Program, wanted func(name string, x *ast.Closure) bool) (info *sema.Info, found *ast.Closure) {
	for _, f := range p.Files {
		if f.Library {
			continue
		}
		ast.InspectFile(f.File, func(n ast.Node) bool {
			if let, is := n.(*ast.LetStmt); is {
				x, closure := let.Value.(*ast.Closure)
				if name, single := let.Pattern.(*ast.NamePat); closure && single && wanted(name.Name.Name, x) {
					info, found = f, x
				}
			}
			return true
		})
	}
	return info, found
}

// capturedBy returns the outer variables that a closure uses.
func capturedBy(d *sema.Closure) []Captured {
	var all []Captured
	for _, l := range d.Captures {
		all = append(all, Captured{l.Name, types.Resolve(l.Type), l.Mut, l.Cell})
	}
	return all
}
