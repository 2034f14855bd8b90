package ir

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/process/parallel"
)

// MaxRegisters is the maximum number of registers of a function. Further variables are in an array
// that one register contains.
const MaxRegisters = 240

// ErrInvalid reports that a program violates a rule of the format.
var ErrInvalid = errors.New("invalid program")

// Verify checks that p cannot corrupt the VM. Every index must be in bounds. Every register must be
// set, with a suitable class, before it is read. Control must stay within each list of
// instructions. Calls must fit the functions that they call (spec/ir.md). The error names the
// function, the instruction and the violated rule, and wraps ErrInvalid. Verify does not change p.
func Verify(p *Program) error {
	v := &verifier{p: p}
	if err := checkVersion(p.Version); err != nil {
		return err
	}
	_, v.minor, _ = splitVersion(p.Version)
	v.types()
	v.constants()
	v.declarations()
	v.outline()
	for i := range p.Functions {
		v.header(i)
	}
	if v.err == nil {
		v.calls = NewCalls(p)
		v.functions()
	}
	return v.err
}

// functions checks the code of all functions, on several processors. The check of one function
// needs only the headers of the others.
func (v *verifier) functions() {
	const least = 64 // minimum number of functions for each goroutine
	errs := make([]error, len(v.p.Functions))
	parallel.Do(len(errs), least, func(from, to int) {
		w := &verifier{p: v.p, minor: v.minor, calls: v.calls}
		var fl flow
		for i := from; i < to && w.err == nil; i++ {
			w.function(i, &fl)
			errs[i] = w.err
		}
	})
	for _, err := range errs {
		if err != nil {
			v.err = err
			return
		}
	}
}

// verifier records the first violated rule.
type verifier struct {
	p     *Program
	minor int // minor version of the program
	calls *Calls
	err   error
}

// check records a violated rule if ok is false. It returns ok.
func (v *verifier) check(ok bool, format string, args ...any) bool {
	if !ok && v.err == nil {
		v.err = fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	return ok
}

func in(n, length int) bool { return n >= 0 && n < length }

// typeArgs is the number of Args of each kind of type. -1 means any number.
var typeArgs = map[string]int{
	"int": 0, "float": 0, "string": 0, "bool": 0, "nil": 0, "any": 0, "array": 1, "map": 2, "option": 1, "result": 2,
	"tuple": -1, "struct": 0, "schema": 0, "enum": 0, "union": 0, "error": 0, "function": 0, "range": 0, "agent": 0,
	"host": 0, "tool": 0, "memory": 0, "hashmap": 0, "ledger": 0, "queue": 0, "task": 1, "never": 0,
}

func (v *verifier) types() {
	p := v.p
	for i := range p.Types {
		t := &p.Types[i]
		n, isKind := typeArgs[t.Kind]
		if !v.check(isKind, "type %d: unknown kind %q", i, t.Kind) {
			return
		}
		v.check(n < 0 || n == len(t.Args), "type %d: %s takes %d types, not %d", i, t.Kind, n, len(t.Args))
		for _, a := range t.Args {
			v.check(in(a, len(p.Types)), "type %d: there is no type %d", i, a)
		}
		v.fields(i, t.Fields)
		v.check(len(t.Variants) <= 256, "type %d: more than 256 variants", i)
		for _, w := range t.Variants {
			v.fields(i, w.Fields)
		}
	}
	if v.err == nil {
		v.finite()
	}
}

func (v *verifier) fields(typ int, fields []FieldInfo) {
	v.check(len(fields) <= MaxRegisters, "type %d: more than %d fields", typ, MaxRegisters)
	for _, f := range fields {
		v.check(in(f.Type, len(v.p.Types)), "type %d: field %s: there is no type %d", typ, f.Name, f.Type)
		v.check(f.Default == nil || json.Valid(f.Default), "type %d: field %s: its default is not JSON", typ, f.Name)
	}
}

// finite rejects a type that contains itself without a named type in between. Types may form cycles
// only through fields.
func (v *verifier) finite() {
	const visiting, done = 1, 2
	state := make([]uint8, len(v.p.Types))
	var visit func(t int)
	visit = func(t int) {
		if state[t] == done || !v.check(state[t] != visiting, "type %d holds itself", t) {
			return
		}
		state[t] = visiting
		for _, a := range v.p.Types[t].Args {
			if v.err == nil {
				visit(a)
			}
		}
		state[t] = done
	}
	for t := range v.p.Types {
		visit(t)
	}
}

func (v *verifier) constants() {
	for i, k := range v.p.Constants {
		n := 0
		if k.Int != nil {
			n++
		}
		if k.Float != nil {
			n++
		}
		if k.String != nil {
			n++
			v.check(utf8.ValidString(*k.String), "constant %d is not valid UTF-8", i)
		}
		v.check(n == 1, "constant %d has %d values", i, n)
	}
}

func (v *verifier) declarations() {
	p := v.p
	for _, a := range p.Agents {
		v.tools("agent "+a.Name, a.Tools)
		v.hook("agent "+a.Name, a.Decorator, 3)
		v.hook("agent "+a.Name, a.Streamed, 3)
		v.hook("agent "+a.Name, a.OnToolError, 1)
		v.check(a.Memory == -1 || in(a.Memory, len(p.Stores)) && p.Stores[a.Memory].Kind == "memory", "agent %s: store %d is no memory", a.Name, a.Memory)
	}
	for _, a := range p.Agents {
		for _, k := range a.Knowledge {
			v.check(in(k, len(p.Stores)) && p.Stores[k].Kind == "ledger", "agent %s: store %d is no ledger", a.Name, k)
		}
	}
	for _, h := range p.Hosts {
		v.tools("host "+h.Name, h.Tools)
		v.hook("host "+h.Name, h.Decorator, 3)
		v.check(h.Params == nil || isObject(h.Params), "host %s: params is not a JSON object", h.Name)
		v.check(h.Config == nil || isObject(h.Config), "host %s: config is not a JSON object", h.Name)
	}
	for _, s := range p.Servers {
		v.check(s.Config == nil || isObject(s.Config), "server %s: config is not a JSON object", s.Name)
	}
	for _, t := range p.AppTools {
		v.check(isObject(t.Config), "tool %s: config is not a JSON object", t.Name)
	}
	for _, c := range p.Connections {
		v.check(isObject(c.Config), "connection %s: config is not a JSON object", c.Name)
	}
	for _, s := range p.Stores {
		v.check(slices.Contains([]string{"hashmap", "ledger", "memory", "queue"}, s.Kind) && s.Window >= 0 && s.Trim >= 0 && s.Trim <= s.Window, "store %s: kind %q, window %d, trim %d", s.Name, s.Kind, s.Window, s.Trim)
		v.check(s.File == "" || s.Kind != "hashmap" || in(s.Key, len(p.Types)) && in(s.Value, len(p.Types)), "store %s: types %d and %d", s.Name, s.Key, s.Value)
		v.check(s.Kind != "queue" || in(s.Value, len(p.Types)) && s.MaxAttempts > 0 && s.RetrySeconds >= 0, "store %s: type %d, %d attempts, retry after %g s", s.Name, s.Value, s.MaxAttempts, s.RetrySeconds)
	}
	for _, t := range p.Tools {
		v.tool(&t)
	}
	for _, x := range p.Called {
		v.toolMethod("function "+x.Name, &x, 0)
	}
	for _, x := range p.Pipelines {
		if x.Withheld == "" {
			v.toolMethod("pipeline "+x.Run.Name, &x.Run, 0)
		}
	}
	for _, m := range p.Methods {
		v.check(in(m.Type, len(p.Types)), "method %s: there is no type %d", m.Name, m.Type)
		if f := v.callable("method "+m.Name, m.Function); f != nil {
			v.check(len(f.Params) > 0, "method %s has no receiver", m.Name)
		}
	}
	for _, t := range p.Tests {
		v.entry("test "+t.Name, t.Function)
	}
	for _, e := range p.Evals {
		f := v.callable("eval "+e.Name, e.Function)
		v.check(f == nil || len(f.Params) == 1, "eval %s: its function needs one parameter", e.Name)
		v.check(in(e.Row, len(p.Types)), "eval %s: there is no type %d", e.Name, e.Row)
		if e.DataFunction != -1 {
			v.entry("the data of eval "+e.Name, e.DataFunction)
		}
	}
	if x := p.Guard; x != nil {
		f := v.callable("the @guard function", x.Function)
		v.check(f == nil || len(f.Params) == 1, "the @guard function needs one parameter")
		v.check(in(x.Approval, len(p.Types)), "the @guard function: there is no type %d", x.Approval)
	}
	if p.Entry != -1 {
		v.entry("the program", p.Entry)
	}
}

func isObject(data json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(data, &m) == nil && m != nil
}

func (v *verifier) tools(of string, tools []int) {
	for _, t := range tools {
		v.check(in(t, len(v.p.Tools)), "%s: there is no tool %d", of, t)
	}
}

// hook checks a function that the library calls with params arguments. n is nil if there is no such
// function.
func (v *verifier) hook(of string, n *int, params int) {
	if n == nil {
		return
	}
	if f := v.callable(of, *n); f != nil {
		v.check(len(f.Params) == params, "%s: function %d takes %d arguments, not %d", of, *n, len(f.Params), params)
	}
}

func (v *verifier) tool(t *Tool) {
	name := "tool " + t.Name
	if v.check(in(t.State, len(v.p.Types)), "%s: there is no type %d", name, t.State) {
		v.check(v.p.Types[t.State].Kind == "tool", "%s: its state is no tool type", name)
	}
	v.entry(name, t.Init)
	v.hook(name, t.List, 1)
	v.hook(name, t.Call, 3)
	for i := range t.Methods {
		v.toolMethod(name+", method "+t.Methods[i].Name, &t.Methods[i], 1)
	}
}

// toolMethod checks a function of a tool. The function has before parameters before the listed
// ones.
func (v *verifier) toolMethod(of string, m *ToolMethod, before int) {
	v.check(in(m.Result, len(v.p.Types)), "%s: there is no type %d", of, m.Result)
	if f := v.callable(of, m.Function); f != nil {
		v.check(len(f.Params) == len(m.Params)+before, "%s: function %d takes %d arguments, not %d", of, m.Function, len(f.Params), len(m.Params)+before)
	}
	for _, p := range m.Params {
		v.check(in(p.Type, len(v.p.Types)), "%s: there is no type %d", of, p.Type)
		if p.Default != -1 {
			v.entry(of+", default of "+p.Name, p.Default)
		}
	}
}

// callable checks that the VM can call function n itself, and returns the function.
func (v *verifier) callable(of string, n int) *Function {
	if !v.check(in(n, len(v.p.Functions)), "%s: there is no function %d", of, n) {
		return nil
	}
	f := &v.p.Functions[n]
	v.check(f.ABI == FullABI && f.Captures == 0, "%s: function %d cannot be called indirectly", of, n)
	return f
}

// entry checks that the VM can call function n itself without arguments.
func (v *verifier) entry(of string, n int) {
	if f := v.callable(of, n); f != nil {
		v.check(len(f.Params) == 0, "%s: function %d takes arguments", of, n)
	}
}

// header checks the properties of a function on which other functions depend.
func (v *verifier) header(i int) {
	f := &v.p.Functions[i]
	fail := func(format string, args ...any) {
		v.check(false, "function %d (%s): "+format, append([]any{i, f.Name}, args...)...)
	}
	full := f.Result == Full
	for _, c := range f.Params {
		if c < Int || c > Full {
			fail("a parameter without class")
		}
		full = full && c == Full
	}
	switch {
	case !in(f.File, len(v.p.Files)):
		fail("there is no file %d", f.File)
	case f.Registers <= len(f.Params) || f.Registers > MaxRegisters:
		fail("%d registers for %d parameters", f.Registers, len(f.Params))
	case !in(f.Captures, 256):
		fail("%d captures", f.Captures)
	case f.OnUnknown != "" && f.OnUnknown != "retry" && f.OnUnknown != "fail" && f.OnUnknown != "ask":
		fail("unknown on_unknown %q", f.OnUnknown)
	case f.Result < Int || f.Result > Full:
		fail("no result class")
	case f.ABI != Typed && f.ABI != FullABI:
		fail("unknown abi %q", f.ABI)
	case f.ABI == FullABI && !full:
		fail("abi full with a typed parameter or result")
	case f.Body && (f.ABI != FullABI || len(f.Params) > 1):
		fail("a body with abi %s and %d parameters", f.ABI, len(f.Params))
	case f.MutSelf && (len(f.Params) == 0 || f.Params[0] != Full):
		fail("mutself without a Full receiver")
	case f.Start != nil && (f.Start.PC != 0 || f.Start.Line < 0 || f.Start.Column < 0):
		fail("a start at %d:%d", f.Start.Line, f.Start.Column)
	}
}
