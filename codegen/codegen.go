// Package codegen generates IR from a checked program. The VM runs the IR, or the compiler stores
// it in a file. The package performs no IO, and generates the same bytes for the same program.
//
// Invariants: Every variable has one register, one cell, or one slot in the function's spill block,
// with one class for its whole life. Temporaries form a stack above the variables. If a use of a
// variable copies its value, the value is marked as shared. A mutation starts at the variable and
// executes an Own instruction for each container on the way to the changed part. Sema rejects all
// code that cannot be generated, so the generator panics if it finds such code.
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

// ManifestData is the part of the manifest that the compiled program contains, as plain data. The
// program refers to hosts and connections by the names of their sections.
type ManifestData struct {
	Connections []ir.Connection
	Hosts       []ManifestHost
	Servers     []ir.Server
	AppTools    []ir.AppTool
	Called      bool // the program's functions are used as tools (ir.Application)
	Debugged    bool // the program runs in a debugger, which also stops at errors that the program catches
	Grows       bool // the program is a part of a session, whose later inputs call its functions
	Limits      ir.Limits
}

// ManifestHost is a [hosts.X] section in the form of an ir.Host. The values in the declaration of a
// host override it.
type ManifestHost struct {
	Section        string
	Params, Config json.RawMessage
}

// Generate generates the IR of a program that sema has checked without errors. The IR passes
// ir.Verify. The only possible diagnostics are about functions that need more registers than the
// machine has.
func Generate(p *sema.Program, m ManifestData) (*ir.Program, diag.List) {
	out := &ir.Program{Version: ir.Version, Name: p.Name, Connections: m.Connections, Servers: m.Servers, Application: ir.Application{AppTools: m.AppTools}, Limits: m.Limits, Entry: -1}
	g := &generator{
		p: p, manifest: m, out: out, pool: newPool(out), types: newTypeTable(), numbers: newNumbers(),
		files:    map[string]int{},
		dynamic:  dynamic{map[string]bool{}, map[string]bool{}},
		readOnly: map[*sema.Param]bool{},
		adapters: map[any]int{},
	}
	g.program()
	return g.out, g.diags
}

// generator is the state of generating a program: the tables under construction, and the index of
// each element in them.
type generator struct {
	p        *sema.Program
	manifest ManifestData
	out      *ir.Program
	diags    diag.List

	pool
	types   typeTable
	numbers numbers
	files   map[string]int // file index by file name; the parts of a library file have the same name

	dynamic dynamic
	// readOnly contains the parameters that are only read (borrow.go).
	readOnly map[*sema.Param]bool
	adapters map[any]int
	guards   *guards // nil until needed (claim.go)

	// code and positions are buffers that the next function reuses. build copies the function's
	// final code out of them.
	code      []ir.Instr
	positions []ir.Position

	// queue contains the functions that will generate the code of reserved indices.
	queue []func()
}

// numbers contains the index of each declaration in its table.
type numbers struct {
	functions map[*sema.Function]int
	pipelines map[*sema.Pipeline]int // index of the pipeline's function
	agents    map[*sema.Agent]int
	hosts     map[*sema.Host]int
	tools     map[*sema.Tool]int
	stores    map[*sema.Store]int
}

func newNumbers() numbers {
	return numbers{map[*sema.Function]int{}, map[*sema.Pipeline]int{}, map[*sema.Agent]int{}, map[*sema.Host]int{},
		map[*sema.Tool]int{}, map[*sema.Store]int{}}
}

// dynamic describes methods that calls look up by name at run time. A name is in a map if at least
// one method with this name has the property.
type dynamic struct {
	mutating map[string]bool // the method changes its receiver
	optional map[string]bool // the method returns an Option
}

func (g *generator) program() {
	for _, info := range g.p.Files {
		g.file(info)
	}
	g.out.Functions = make([]ir.Function, 0, 2*len(g.p.Functions)) // the second half is room for closures
	for _, fn := range g.p.Functions {
		if fn.Native == "" && fn.Effect == "" && (fn.Decl.Body != nil || fn.Remote()) {
			g.numbers.functions[fn] = g.reserve()
		}
	}
	for _, d := range g.p.Dynamic {
		g.dynamic.mutating[d.Name] = g.dynamic.mutating[d.Name] || d.Fn.MutSelf
		g.dynamic.optional[d.Name] = g.dynamic.optional[d.Name] || isOption(d.Fn.CallType())
	}
	g.borrow()
	g.declarations()
	for _, fn := range g.p.Functions {
		if n, ok := g.numbers.functions[fn]; ok {
			g.function(n, fn)
			g.drain()
		}
	}
	g.outline()
	g.tests()
	g.evals()
	g.guard()
	for n := -1; n != len(g.out.Types); { // generating a method may add types, which have methods themselves
		n = len(g.out.Types)
		g.methods()
		g.drain()
	}
	if g.p.Main != nil {
		g.out.Entry = g.numbers.functions[g.p.Main]
		if len(g.p.Main.Params) > 0 {
			g.out.Entry = g.taskEntry(g.p.Main, g.out.Entry)
			g.drain()
		}
	}
}

// reserve returns the index of a function whose code is generated later.
func (g *generator) reserve() int {
	g.out.Functions = append(g.out.Functions, ir.Function{})
	return len(g.out.Functions) - 1
}

// enqueue adds a function that generates the code of a reserved index to the queue.
func (g *generator) enqueue(f func()) { g.queue = append(g.queue, f) }

// drain runs the queue until it is empty.
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

// bug panics because the tree contains code that sema should have rejected.
func bug(info *sema.Info, at source.Span, format string, args ...any) {
	place := ""
	if info != nil {
		place = fmt.Sprintf("%s:%s: ", info.File.Source.Name, info.File.Source.Position(at.Start))
	}
	panic("codegen: " + place + fmt.Sprintf(format, args...))
}

// unparen removes the parentheses around e, unless a parenthesized expression has a conversion.
func unparen(info *sema.Info, e ast.Expr) ast.Expr {
	for {
		p, ok := e.(*ast.ParenExpr)
		if !ok || info.Conv(p) != nil {
			return e
		}
		e = p.X
	}
}
