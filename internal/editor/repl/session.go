// Package repl is a session of inputs that the user types one after the other: statements,
// declarations and expressions. Each is checked as in a file and then run by itself. Declarations
// persist and may be redeclared; variables retain their values.
//
// Each input is checked within a text that is put together of all that counts: the declarations,
// and a function with the statements that have bound variables, in which the new line is a closure.
// That closure alone is generated and run: what it captures are the values that the variables have.
//
// It knows no terminal: who shows it gets texts, values and findings.
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

// Machine runs lines.
type Machine interface {
	Program() *ir.Program
	Grow(p *ir.Program, before ir.Grown) error
	Line(ctx context.Context, function, tools int, captured []value.Slot) (value.Slot, error)
}

// Session holds the valid inputs so far. It is not safe for concurrent use.
type Session struct {
	request driver.Request
	machine Machine
	growth  *ir.Growth
	tools   int // how many tools have their state
	broken  error

	state
	units map[string]*layout // by the names that traces have
	done  int                // how many lines have been generated
	view  analysisView
}

// state is what an input changes.
type state struct {
	base   *source.File   // the entry of the program; nil without one
	hidden []*declaration // declarations of base that were replaced
	own    []*declaration // of base
	decls  []*declaration
	lets   []*binding
	script []*binding // all statements that went well
	last   bool       // there is a last value
}

// binding is an input that has bound variables.
type binding struct {
	file   *source.File
	pieces []piece
	vars   map[string]*variable
	last   bool // it uses the value before
}

// variable is one with its value.
type variable struct {
	value value.Slot // in a cell when it can change
	typ   types.Type
	text  string // the type, in full
}

// Result is the result of a valid input.
type Result struct {
	Shown string // the value as source text; "" for none
	Type  string // of the value
	Found []*diag.Diagnostic
	// variables that were dropped, because a declaration that they depend on was replaced
	Dropped []string
}

// CompileError are why nothing was done.
type CompileError struct{ Found []*diag.Diagnostic }

func (m *CompileError) Error() string { return diag.Count(m.Found) }

// New begins a session over the program that the request names, or over none when it has a
// Given. The machine must have loaded it.
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

// attempt is an input that was compiled.
type attempt struct {
	in      *input
	line    *driver.CompiledLine
	found   []*diag.Diagnostic
	dropped []string
	unit    string
}

// compile checks an input and drops what it invalidates.
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

// entryName returns how users see the file that the text is in the place of.
func (s *Session) entryName() string {
	if s.base != nil {
		return s.base.Name
	}
	return Name
}

// classify sorts diagnostics into invalidated bindings, errors and others.
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

// isDeclarationInput reports whether a file is an earlier input with declarations.
func (s *Session) isDeclarationInput(f *source.File) bool {
	return slices.ContainsFunc(s.decls, func(d *declaration) bool { return d.file == f && d.shown })
}

// changedBindings returns the bindings whose variables a line uses and whose types have changed,
// because a declaration was replaced.
func (s *Session) changedBindings(l *driver.CompiledLine) (stale []*binding) {
	for _, c := range l.Captures {
		if b, v := s.find(c.Name); v != nil && v.text != typeText(c.Type) {
			stale = append(stale, b)
		}
	}
	return stale
}

// find finds a variable.
func (s *Session) find(name string) (*binding, *variable) {
	for _, b := range slices.Backward(s.lets) {
		if v := b.vars[name]; v != nil {
			return b, v
		}
	}
	return nil, nil
}

// forget drops bindings and returns their variables.
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

// forgetTypes drops the variables whose types were declared again: their values have the old form.
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

// declare adds declarations and replaces those with the same keys.
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

// execute adds a line to what runs, and runs it.
func (s *Session) execute(ctx context.Context, a *attempt) (v value.Slot, err error) {
	number, before, err := s.growth.Add(a.line.Program, a.line.Number)
	if err != nil {
		return v, fmt.Errorf("add the line to the program: %w", err)
	}
	if err := s.machine.Grow(s.growth.Program, before); err != nil {
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

// recordBindings records what a line has bound.
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
		s.lets = s.lets[:n-1] // nothing can name it any more
	}
	s.lets = append(s.lets, b)
	s.last = s.last || valued
}

// most limits the text of a value, in bytes.
const most = 1 << 16
