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

// Line is a program of which one closure is to be run, as a line that somebody has typed: the value
// of a variable in one of its functions. Errors that leave the closure are raised, as in main.
type Line struct {
	Request
	// Text is the entry's, in the place of what the request names.
	Text string
	// Unit is the name that the entry has in the program's traces.
	Unit string
	// Variable is the one whose value is the closure. Kept is one in that closure whose own
	// closure captures what is to be kept of it.
	Variable, Kept string
}

// CompiledLine is what became of one.
type CompiledLine struct {
	Program  *ir.Program
	Number   int        // of the closure's function; -1 when there is none
	Captures []Captured // what it uses of the variables around it
	Kept     []Captured
}

// Compile checks the program and generates it. What is given is nil when there are mistakes.
func (l *Line) Compile() (*CompiledLine, diag.List) {
	in, err := l.load()
	if err != nil {
		return nil, diag.List{}
	}
	in.line = l.Variable
	checked, found := in.checked(0, nil)
	found = in.without(found)
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
	if info, kept := closureOf(checked, called(l.Kept)); kept != nil {
		c.Kept = capturedBy(info.Closure(kept))
	}
	p, more := codegen.Generate(checked, in.embedded())
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

// load finds the entry, and puts the text into its place.
func (l *Line) load() (*Input, error) {
	q := l.Request
	q.Plain = true
	if q.Given != nil {
		given := *q.Given
		given.Text, given.Body = []byte(l.Text), false
		q.Given = &given
		return Load(q)
	}
	in, err := Load(q)
	if err != nil || in.Entry == nil {
		return in, err
	}
	q.Overlay = map[string][]byte{filepath.Join(in.Root, filepath.FromSlash(in.EntryName)): []byte(l.Text)}
	return Load(q)
}

// closureOf finds the closure of the program that is the value of a variable: the last that is wanted by the variable's name.
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

// capturedBy are the variables around a closure that it uses.
func capturedBy(d *sema.Closure) []Captured {
	var all []Captured
	for _, l := range d.Captures {
		all = append(all, Captured{l.Name, types.Resolve(l.Type), l.Mut, l.Cell})
	}
	return all
}
