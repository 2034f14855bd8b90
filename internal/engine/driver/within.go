package driver

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
)

// Within is a text that a debugger evaluates at a position of a program. Compile inserts the text
// there as a closure, which captures the variables that the text uses.
type Within struct {
	Request
	Root         string            // Input.Root of the running program
	Texts        map[string]string // source texts of the running program by file name in the IR
	File         string            // file of the position, by its name in the IR
	Line, Column int
	Lets         string // statements that are checked before the text, but not run
	Text         string
}

// Closure is the compiled text.
type Closure struct {
	Program  *ir.Program
	Number   int // number of the closure's function in the program
	Captures []Captured
	Result   types.Type
	Body     *ast.Closure
}

// Captured is a variable that the closure uses from outside.
type Captured struct {
	Name string
	Type types.Type
	Mut  bool
	Cell bool
}

// within is the name of the inserted variable whose value is the closure.
const within = "debugged_text"

// Compile checks the text and generates the program with it. The closure is nil if the text has
// errors.
func (w *Within) Compile() (*Closure, diag.List) {
	p, ok := w.Placed()
	if !ok {
		return nil, diag.List{}
	}
	q := w.Request
	q.Plain, q.Overlay = true, map[string][]byte{}
	for name, text := range w.Texts {
		q.Overlay[w.Absolute(name)] = []byte(text)
	}
	q.Overlay[w.Absolute(w.File)] = []byte(p.File)
	in, err := Load(q)
	if err != nil {
		return nil, diag.List{}
	}
	checked, found := in.sound()
	if checked == nil {
		return nil, found
	}
	return w.generateClosure(in, checked, p.let, source.Pos(p.At+p.len+2))
}

// Placed is a file's text with the evaluated text inserted.
type Placed struct {
	File string
	At   int // offset of the evaluated text in bytes

	let source.Pos
	len int
}

// Placed inserts the text at its position. ok is false if no statement can be inserted there.
func (w *Within) Placed() (p Placed, ok bool) {
	text := w.Texts[w.File]
	file := source.NewFile(w.File, []byte(text))
	if w.Line < 1 || w.Line > file.Lines() {
		return p, false
	}
	before, after, at := insertionPoint(file, file.Pos(w.Line, w.Column))
	head := before + w.Lets + "let " + within + " = || { "
	body := strings.NewReplacer("\r", " ", "\n", " ").Replace(w.Text)
	rest := text[at:]
	if after.text != "" {
		rest = text[at:after.at] + after.text + text[after.at:]
	}
	return Placed{text[:at] + head + body + " }; " + rest, int(at) + len(head), at + source.Pos(len(before)), len(body)}, true
}

// Absolute returns the absolute path of a file of the program by its name in the IR.
func (w *Within) Absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.Root, filepath.FromSlash(name))
}

// generateClosure finds the closure in the checked program and generates its code.
func (w *Within) generateClosure(in *Input, checked *sema.Program, from, to source.Pos) (*Closure, diag.List) {
	info, body := closureOf(checked, func(name string, x *ast.Closure) bool {
		return name == within && x.Span().Start > from && x.Span().End <= to
	})
	if body == nil {
		return nil, diag.List{}
	}
	d := info.Closure(body)
	c := &Closure{Body: body, Captures: capturedBy(d)}
	c.Result = types.Resolve(d.Type.Result)
	p, found := codegen.Generate(checked, in.embedded())
	if found.HasErrors() {
		return nil, found
	}
	for i := range p.Files {
		if name, ours := in.names[p.Files[i].Name]; ours {
			p.Files[i].Name = name
		}
	}
	file := info.File.Source
	first, last := file.Position(c.Body.Span().Start), file.Position(c.Body.Span().End)
	c.Program, c.Number = p, -1
	for n := range p.Functions {
		f := &p.Functions[n]
		if f.File < 0 || f.File >= len(p.Files) || path.Clean(p.Files[f.File].Name) != path.Clean(w.File) || len(f.Positions) == 0 || !strings.Contains(f.Name, " closure ") {
			continue
		}
		at := f.Positions[0]
		isInside := f.Line == first.Line && at.Line == first.Line && at.Column >= first.Column && at.Column <= last.Column
		if isInside && (c.Number < 0 || len(f.Name) < len(p.Functions[c.Number].Name)) {
			c.Number = n
		}
	}
	if c.Number < 0 {
		return nil, diag.List{}
	}
	return c, found
}

// insertion is a text and the offset at which it is inserted.
type insertion struct {
	at   source.Pos
	text string
}

// insertionPoint returns where to insert a statement from which the variables of the position are
// visible. This is before the innermost statement that contains the position, or at the start of a
// block that is added around the expression.
func insertionPoint(f *source.File, at source.Pos) (before string, after insertion, start source.Pos) {
	tree, _ := parser.Parse(f)
	start = at
	covers := func(n ast.Node) bool { s := n.Span(); return s.Start <= at && at < s.End }
	whole := func(e ast.Expr) {
		if _, block := e.(*ast.BlockExpr); e != nil && !block && covers(e) {
			before, after, start = "{ ", insertion{e.Span().End, " }"}, e.Span().Start
		}
	}
	ast.InspectFile(tree, func(n ast.Node) bool {
		if !covers(n) {
			return false
		}
		switch n := n.(type) {
		case *ast.Block:
			start, before, after = n.Span().End-1, "", insertion{}
			if n.Span().End <= n.Span().Start+1 {
				start = at
			}
			for _, x := range n.Stmts {
				if covers(x) {
					start = x.Span().Start
				}
			}
			// A position at the end of the block counts too, because nothing may follow the block's
			// value.
			if n.Tail != nil && at >= n.Tail.Span().Start {
				start = n.Tail.Span().Start
			}
		case *ast.Arm:
			whole(n.Body)
		case *ast.Closure:
			whole(n.Body)
		}
		return true
	})
	return before, after, start
}
