// Package codegen turns a checked program into IR; its API promises nothing. It
// comes after sema and before the VM (or the file that holds the IR), performs
// no IO, and gives the same bytes for the same program.
//
// Invariants. Every variable has one register, one cell, or one place in the
// function's spill block, of one class for its whole life. Temporaries are a
// stack above the variables. When a use of a variable copies its value, the
// value is marked as shared; every mutation walks from the variable through
// Own. Sema has refused everything that cannot be generated: meeting such code
// here is our bug and panics.
package codegen

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// ManifestData is the part of the manifest that a program carries with it, as
// plain data. Hosts and connections are found by the name of their section.
type ManifestData struct {
	Connections []ir.Connection
	Hosts       []ManifestHost
	Servers     []ir.Server
	AppTools    []ir.AppTool
	Called      bool // tools are made of the program's functions: see ir.Application
	Debugged    bool // for a debugger, which wants to know of errors that do not leave their function
	Limits      ir.Limits
}

// ManifestHost is a [hosts.X] section in the form of an ir.Host; values in the
// host's declaration override it.
type ManifestHost struct {
	Section        string
	Params, Config json.RawMessage
}

// Generate makes the IR of a program that sema has checked without errors. The
// IR passes ir.Verify. The only diagnostics are about limits of the machine: a
// function that needs too many registers at once.
func Generate(p *sema.Program, m ManifestData) (*ir.Program, diag.List) {
	out := &ir.Program{Version: ir.Version, Name: p.Name, Connections: m.Connections, Servers: m.Servers, Application: ir.Application{AppTools: m.AppTools}, Limits: m.Limits, Entry: -1}
	g := &generator{
		p: p, manifest: m, out: out, pool: newPool(out), types: newTypeTable(), numbers: newNumbers(),
		files:    map[string]int{},
		dynamic:  dynamic{map[string]bool{}, map[string]bool{}},
		borrowed: map[*sema.Param]bool{},
		adapters: map[any]int{},
	}
	g.program()
	return g.out, g.diags
}

// generator is the state that the whole program shares: the tables under
// construction, and the index of each thing in them.
type generator struct {
	p        *sema.Program
	manifest ManifestData
	out      *ir.Program
	diags    diag.List

	pool
	types   typeTable
	numbers numbers
	files   map[string]int // by name: a library file can come in parts

	dynamic dynamic
	// borrowed says which parameters are only read (borrow.go).
	borrowed map[*sema.Param]bool
	adapters map[any]int

	// code and positions are memory for the next function; they are copied when
	// its size is known.
	code      []ir.Instr
	positions []ir.Position

	// queue holds what has an index and waits for its code.
	queue []func()
}

// numbers say where each declaration stands in its table.
type numbers struct {
	functions map[*sema.Function]int
	pipelines map[*sema.Pipeline]int // among the functions
	agents    map[*sema.Agent]int
	hosts     map[*sema.Host]int
	tools     map[*sema.Tool]int
	stores    map[*sema.Store]int
}

func newNumbers() numbers {
	return numbers{map[*sema.Function]int{}, map[*sema.Pipeline]int{}, map[*sema.Agent]int{}, map[*sema.Host]int{},
		map[*sema.Tool]int{}, map[*sema.Store]int{}}
}

// dynamic gives the properties that at least one method of a name has, for
// names that calls look up at run time.
type dynamic struct {
	mutating map[string]bool // it changes what it is called on
	optional map[string]bool // it gives an Option
}

func (g *generator) program() {
	for _, info := range g.p.Files {
		g.file(info)
	}
	g.out.Functions = make([]ir.Function, 0, 2*len(g.p.Functions)) // with their closures
	for _, fn := range g.p.Functions {
		if fn.Native == "" && fn.Effect == "" && (fn.Decl.Body != nil || fn.Remote()) {
			g.numbers.functions[fn] = g.reserve()
		}
	}
	for _, d := range g.p.Dynamic {
		g.dynamic.mutating[d.Name] = g.dynamic.mutating[d.Name] || d.Fn.MutSelf
		g.dynamic.optional[d.Name] = g.dynamic.optional[d.Name] || isOption(d.Fn.Gives())
	}
	g.borrow()
	g.declarations()
	for _, fn := range g.p.Functions {
		if n, ok := g.numbers.functions[fn]; ok {
			g.function(n, fn)
			g.drain()
		}
	}
	g.tests()
	for n := -1; n != len(g.out.Types); { // what calls a method may need further types
		n = len(g.out.Types)
		g.methods()
		g.drain()
	}
	if g.p.Main != nil {
		g.out.Entry = g.numbers.functions[g.p.Main]
	}
}

// reserve makes room for a function whose code follows.
func (g *generator) reserve() int {
	g.out.Functions = append(g.out.Functions, ir.Function{})
	return len(g.out.Functions) - 1
}

// later queues the code of a reserved function.
func (g *generator) later(f func()) { g.queue = append(g.queue, f) }

// drain generates what is queued, and what that queues in turn.
func (g *generator) drain() {
	for len(g.queue) > 0 {
		f := g.queue[0]
		g.queue = g.queue[1:]
		f()
	}
}

func (g *generator) file(info *sema.Info) int {
	name := info.File.Source.Name
	if n, ok := g.files[name]; ok {
		return n
	}
	n := len(g.out.Files)
	g.files[name] = n
	f := ir.File{Name: name}
	if !info.Library {
		f.Text = info.File.Source.String()
	}
	g.out.Files = append(g.out.Files, f)
	return n
}

// bug stops on a tree that sema should not have let through.
func bug(info *sema.Info, at source.Span, format string, args ...any) {
	place := ""
	if info != nil {
		place = fmt.Sprintf("%s:%s: ", info.File.Source.Name, info.File.Source.Position(at.Start))
	}
	panic("codegen: " + place + fmt.Sprintf(format, args...))
}

// unparen looks through parentheses that convert nothing.
func unparen(info *sema.Info, e ast.Expr) ast.Expr {
	for {
		p, ok := e.(*ast.ParenExpr)
		if !ok || info.Conv(p) != nil {
			return e
		}
		e = p.X
	}
}
