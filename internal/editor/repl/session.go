// Package repl implements interactive sessions. A session runs the inputs that a user types one
// after the other: statements, declarations and expressions. Each input is checked as if it were in
// a file, and then only its code is run. Declarations persist and may be redeclared, and variables
// retain their values.
//
// To check an input, a session builds a text from the declarations and a function. The function
// contains the earlier statements that bind variables, and the new input as a closure. Only code
// for that closure is generated and run. The values that it captures are those of the session's
// variables.
//
// The package does not depend on a terminal: its callers receive texts, values and diagnostics.
package repl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/literal"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/vm"
)

// Machine executes the compiled inputs.
type Machine interface {
	Program() *ir.Program
	Grow(p *ir.Program) error
	Line(ctx context.Context, function, tools int, captured []value.Slot) (value.Slot, error)
}

// Session holds the valid inputs so far. It is not safe for concurrent use.
type Session struct {
	request driver.Request
	machine Machine
	growth  *ir.Growth
	tools   int // number of tools whose state is initialized
	broken  error

	state
	units map[string]*layout // layouts of the inputs, by the unit names in stack traces
	done  int                // number of inputs that were compiled to code
	view  analysisView
}

// state is the part of a session that an input can change.
type state struct {
	base   *source.File   // entry file of the program; nil if there is no program
	hidden []*declaration // declarations of base that an input has replaced
	own    []*declaration // declarations of base
	decls  []*declaration
	lets   []*binding
	script []*binding // the statements of all inputs that succeeded
	last   bool       // a last value exists
}

// binding is an input that has bound variables.
type binding struct {
	file   *source.File
	pieces []piece
	vars   map[string]*variable
	last   bool // the input uses the last value of an earlier input
}

// variable is the value of a variable with its type.
type variable struct {
	value value.Slot // the value, or a cell that contains it if the variable is mutable
	typ   types.Type
	text  string // fully qualified type
}

// Result is the result of a valid input.
type Result struct {
	Shown string // value as source text; "" for none
	Type  string // type of the value
	Found []*diag.Diagnostic
	// names of the variables that were dropped because a declaration they depend on was replaced
	Dropped []string
}

// CompileError contains the diagnostics of an input that was not run.
type CompileError struct{ Found []*diag.Diagnostic }

func (m *CompileError) Error() string { return diag.Count(m.Found) }

// New starts a session with the program of the request, or without a program if the request has a
// Given. The machine must have loaded that program.
func New(r driver.Request, m Machine) (*Session, error) {
	s := &Session{request: r, machine: m, growth: ir.Grow(m.Program()), tools: len(m.Program().Tools), units: map[string]*layout{}}
	if r.Inline != nil {
		return s, nil
	}
	in, err := driver.Load(r)
	if err != nil {
		return nil, err
	}
	s.base = in.Entry
	tree, _ := parser.Parse(in.Entry)
	for _, d := range tree.Decls {
		at := d.Span()
		rest := in.Entry.String()[at.End:]
		if trimmed := strings.TrimLeft(rest, " \t\r\n"); strings.HasPrefix(trimmed, ";") {
			at.End += source.Pos(len(rest) - len(trimmed) + 1)
		}
		s.own = append(s.own, newDeclaration(in.Entry, at, d))
	}
	return s, nil
}

// Run checks and runs an input. name is its file name in messages. The error is a *CompileError if
// the input is invalid, and a *vm.Uncaught if it failed.
func (s *Session) Run(ctx context.Context, name, text string) (*Result, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	in := read(name, text)
	if len(in.decls) == 0 && in.bare {
		return &Result{}, nil
	}
	before := s.state
	r, err := s.run(ctx, in)
	var wrong *CompileError
	if errors.As(err, &wrong) {
		s.state = before
	}
	return r, err
}

// Type returns the type of an expression, without running it.
func (s *Session) Type(text string) (string, error) {
	before := s.state
	defer func() { s.state = before }()
	a, err := s.compile(read(Name, text))
	if err != nil {
		return "", err
	}
	for _, k := range a.line.Retained {
		if k.Name == lastName {
			return typeText(k.Type), nil
		}
	}
	return typeText(types.Nil), nil
}

func typeText(t types.Type) string { return fmt.Sprint(types.Full(t)) }

// attempt is an input that was compiled but not run yet.
type attempt struct {
	in      *input
	line    *driver.CompiledLine
	found   []*diag.Diagnostic
	dropped []string
	unit    string
}

// compile checks and compiles an input. The attempt lists the variables that the input invalidates.
func (s *Session) compile(in *input) (*attempt, error) {
	if !s.last && in.last != (source.Span{}) {
		return nil, &CompileError{[]*diag.Diagnostic{diag.UnknownName.At(in.last, "there is no last value").In(in.file).Hint("`_` is the value of an expression that was typed before")}}
	}
	s.declare(in.decls)
	a := &attempt{in: in}
	a.dropped = s.forgetTypes(in.decls)
	for {
		l := s.layoutProgram(in, true)
		a.unit = fmt.Sprintf("%s:%d", Name, s.done)
		q := driver.Line{Request: s.request, Text: l.text.String(), Unit: a.unit, Variable: lineName, Retained: boundName}
		line, found := q.Compile()
		l.toFile(s.entryName())
		stale, wrong, rest := s.classify(l, found.Sorted())
		if line != nil {
			stale = append(stale, s.changedBindings(line)...)
		}
		switch {
		case len(wrong) > 0:
			return nil, &CompileError{wrong}
		case len(stale) > 0:
			a.dropped = append(a.dropped, s.forget(stale)...)
			continue
		case line == nil:
			return nil, errors.New("the input cannot be compiled, but there is no diagnostic: this is a bug in Concerto, please report it")
		}
		a.line, a.found = line, rest
		s.units[a.unit] = l
		s.done++
		return a, nil
	}
}

// entryName returns the name that diagnostics show for the file that contains the text.
func (s *Session) entryName() string {
	if s.base != nil {
		return s.base.Name
	}
	return Name
}

// classify divides diagnostics into errors of earlier bindings that the input invalidates, errors
// of the input, and other diagnostics.
func (s *Session) classify(l *layout, all []*diag.Diagnostic) (stale []*binding, wrong, rest []*diag.Diagnostic) {
	for _, d := range all {
		out, mine := l.diagnostic(d)
		isError := d.Severity() == diag.Error
		at := slices.IndexFunc(s.lets, func(b *binding) bool { return b.file == out.File })
		switch {
		case at >= 0 && isError:
			stale = append(stale, s.lets[at])
		case isError:
			wrong = append(wrong, out)
		case at < 0 && mine && out.File != s.base && d.File != nil && d.File.Name == l.file.Name && d.Info != diag.UnusedImport && !s.isDeclarationInput(out.File):
			rest = append(rest, out)
		}
	}
	return stale, wrong, rest
}

// isDeclarationInput reports whether a file is an earlier input that contains declarations.
func (s *Session) isDeclarationInput(f *source.File) bool {
	return slices.ContainsFunc(s.decls, func(d *declaration) bool { return d.file == f && d.shown })
}

// changedBindings returns the bindings whose variables an input uses and whose types have changed
// because a declaration was replaced.
func (s *Session) changedBindings(l *driver.CompiledLine) (stale []*binding) {
	for _, c := range l.Captures {
		if b, v := s.find(c.Name); v != nil && v.text != typeText(c.Type) {
			stale = append(stale, b)
		}
	}
	return stale
}

// find returns the variable with a name and its binding.
func (s *Session) find(name string) (*binding, *variable) {
	for _, b := range slices.Backward(s.lets) {
		if v := b.vars[name]; v != nil {
			return b, v
		}
	}
	return nil, nil
}

// forget drops bindings and returns the names of their variables.
func (s *Session) forget(stale []*binding) (names []string) {
	s.script = slices.DeleteFunc(slices.Clone(s.script), func(b *binding) bool { return slices.Contains(stale, b) })
	s.lets = slices.DeleteFunc(slices.Clone(s.lets), func(b *binding) bool {
		isStale := slices.Contains(stale, b)
		if isStale {
			for name := range b.vars {
				if name != lastName {
					names = append(names, name)
				}
			}
		}
		return isStale
	})
	_, v := s.find(lastName)
	s.last = v != nil
	slices.Sort(names)
	return names
}

// forgetTypes drops the variables whose types were declared again, because their values have the
// old form. It returns the names of the variables.
func (s *Session) forgetTypes(decls []*declaration) []string {
	redeclared := map[string]bool{}
	for _, d := range decls {
		if d.isType {
			redeclared[d.name] = true
		}
	}
	var stale []*binding
	for _, b := range s.lets {
		for _, v := range b.vars {
			if len(redeclared) > 0 && mentions(v.typ, redeclared, map[*types.Decl]bool{}) {
				stale = append(stale, b)
				break
			}
		}
	}
	return s.forget(stale)
}

// declare adds declarations. They replace earlier declarations with the same keys.
func (s *Session) declare(decls []*declaration) {
	s.decls, s.hidden = slices.Clone(s.decls), slices.Clone(s.hidden)
	for _, d := range decls {
		same := func(o *declaration) bool {
			return slices.ContainsFunc(o.keys, func(k string) bool { return slices.Contains(d.keys, k) })
		}
		s.decls = slices.DeleteFunc(s.decls, same)
		for _, o := range s.own {
			if same(o) {
				s.hidden = append(s.hidden, o)
			}
		}
		s.decls = append(s.decls, d)
	}
	slices.SortFunc(s.hidden, func(a, b *declaration) int { return cmp.Compare(a.at.Start, b.at.Start) })
}

// run compiles and runs an input.
func (s *Session) run(ctx context.Context, in *input) (*Result, error) {
	a, err := s.compile(in)
	if err != nil {
		return nil, err
	}
	for _, d := range s.decls {
		d.shown = true
	}
	r := &Result{Found: a.found, Dropped: a.dropped}
	if a.line.Number < 0 {
		return r, nil
	}
	bound, err := s.execute(ctx, a)
	if err != nil {
		return r, err
	}
	s.recordBindings(a, bound, r)
	return r, nil
}

// execute adds a compiled input to the running program and runs it.
func (s *Session) execute(ctx context.Context, a *attempt) (v value.Slot, err error) {
	number, err := s.growth.Add(a.line.Program, a.line.Number)
	if err != nil {
		return v, fmt.Errorf("add the line to the program: %w", err)
	}
	if err := s.machine.Grow(s.growth.Program); err != nil {
		s.broken = fmt.Errorf("load the line: %w; `:reset` starts a new session", err)
		return v, s.broken
	}
	captured := make([]value.Slot, len(a.line.Captures))
	for i, c := range a.line.Captures {
		_, x := s.find(c.Name)
		if x == nil {
			return v, fmt.Errorf("`%s` has no value", restoreLastName(c.Name))
		}
		captured[i] = x.value
		switch isCell := x.value.Kind() == value.KindCell; {
		case c.Cell && !isCell:
			x.value = value.NewCell(x.value)
			captured[i] = x.value
		case !c.Cell && isCell:
			captured[i] = x.value.Fields()[0]
		}
		value.Share(captured[i])
	}
	tools := s.tools
	v, err = s.machine.Line(ctx, number, tools, captured)
	if s.tools = len(s.growth.Program.Tools); err != nil {
		var failed *vm.Uncaught
		if errors.As(err, &failed) {
			s.resolvePositions(failed)
		}
	}
	return v, err
}

// recordBindings stores the variables that an input has bound.
func (s *Session) recordBindings(a *attempt, bound value.Slot, r *Result) {
	b := &binding{file: a.in.file, vars: map[string]*variable{}, last: a.in.last != (source.Span{})}
	valued := false
	for i, k := range a.line.Retained {
		if bound.Kind() != value.KindClosure || i >= len(bound.Fields()) {
			break
		}
		x := bound.Fields()[i]
		value.Share(x)
		if k.Name == lastName {
			if k.Type == types.Nil || k.Type == types.Never {
				continue
			}
			valued = true
			r.Shown, r.Type = literal.TextUpTo(literal.Flat(x), k.Type, most), typeText(k.Type)
		}
		b.vars[k.Name] = &variable{x, k.Type, typeText(k.Type)}
	}
	b.pieces = a.in.statements(valued)
	s.script = append(slices.Clone(s.script), b)
	if len(b.vars) == 0 {
		return
	}
	s.lets = slices.Clone(s.lets)
	if n := len(s.lets); valued && !b.last && n > 0 && len(s.lets[n-1].vars) == 1 && s.lets[n-1].vars[lastName] != nil {
		s.lets = s.lets[:n-1] // the previous last value can no longer be named
	}
	s.lets = append(s.lets, b)
	s.last = s.last || valued
}

// most is the maximum length of the text of a shown value, in bytes.
const most = 1 << 16
