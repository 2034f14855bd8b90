// Package program generates random well-typed programs, from a seed or from bytes, for tests that
// run one program in several ways and compare the outputs.
//
// The programs of subject Values assign, nest, mutate, pass, return, capture, catch and match
// values of every container. Those of subject Flow take all paths into and out of loops, tries,
// matches, closures and functions. They print their values as they run. Every program terminates:
// loops count to small bounds, functions call only those declared before them, and growing values
// are cut. A program of Values raises faults only within a try that catches them.
//
// Copies generates programs about copies of nested values, with the output that a model expects.
//
// A Form is another way to write the same program: the same choices, with variables read, held or
// placed differently. All forms of a program must print the same, whatever code the compiler
// generates for them.
package program

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Form is a way to write a program.
type Form uint8

// The forms.
const (
	// Plain writes variables unchanged.
	Plain Form = iota
	// Passed reads each variable through a generic identity function, so that no variable is read
	// in place or moved out of.
	Passed
	// Bound reads each variable through a block that binds it to a new name.
	Bound
	// Captured adds a closure that is never called and captures each mutable variable, so that each
	// is in a cell.
	Captured
	// Crowded first declares so many variables that later ones get no register.
	Crowded
	// Handled runs the body of main in the handler of a message from the host Worker. The handler
	// uses the variables of main.
	Handled
	// Nested runs the body in a handler within a handler.
	Nested
	// Forms is the number of forms.
	Forms
)

var formNames = [Forms]string{"plain", "passed", "bound", "captured", "crowded", "handled", "nested"}

func (f Form) String() string { return formNames[f] }

// Subject is a topic of generated programs.
type Subject struct {
	prelude string         // declarations that every program contains
	kinds   []*kind        // kinds of variables, parameters and results
	letters map[byte]*kind // kinds by their letter in templates
	writers []func(*gen)   // writers of statements
	budget  int            // maximum number of statements in the whole program
	program func(*gen)     // writes the program
	last    func(*gen)     // writes the last statements of main; may be nil
}

// FromSeed generates the program of a seed.
func FromSeed(about *Subject, seed uint64, form Form) string {
	r := rand.New(rand.NewPCG(seed, 0))
	return generate(about, func(n int) int { return r.IntN(n) }, form)
}

// FromBytes generates a program from data. Each byte is a choice. After the end of data, every
// choice is the first one, which ends the current construct.
func FromBytes(about *Subject, data []byte, form Form) string {
	return generate(about, func(n int) int {
		if len(data) == 0 {
			return 0
		}
		c := int(data[0]) % n
		data = data[1:]
		return c
	}, form)
}

// gen is a program under construction.
type gen struct {
	*Subject
	choose func(n int) int
	form   Form
	out    strings.Builder
	depth  int // nesting depth of blocks, for indentation
	scopes [][]*variable
	fns    []*function
	names  int
	// home is the function or closure under construction.
	home home
	left int // remaining number of statements
}

// home is the function or closure that contains the code under construction. It determines which
// `return`, `?`, `break` and `continue` are valid.
type home struct {
	result *kind // kind of the result; nil if there is none
	loops  []loop
	// closure is set if the code can capture outer variables, and inLoop if the code may run often.
	closure bool
	main    bool
	tries   int // number of enclosing tries
}

// loop is an enclosing loop with its label, or "", and the kind of its value, or nil.
type loop struct {
	label string
	value *kind
}

// mayThrow reports whether an error of any type may leave the function. A function that returns an
// Option cannot return an error, and one that returns a Result can only return errors of its error
// type.
func (h *home) mayThrow() bool { return h.result != kOpt && h.result != kOptArr && h.result != kRes }

type variable struct {
	name    string
	kind    *kind
	mutable bool
	result  *kind // kind of the result if the variable is a closure without parameters, whose kind is nil
	param   *kind // kind of the closure's parameter; nil without one
}

type function struct {
	name   string
	params []*variable
	result *kind
}

func generate(about *Subject, choose func(n int) int, form Form) string {
	g := &gen{Subject: about, choose: choose, form: form, left: about.budget}
	g.out.WriteString(g.prelude)
	if form == Handled || form == Nested {
		g.out.WriteString("host Worker { connector: worker, output_format: \"json\" }\n")
	}
	g.program(g)
	return g.out.String()
}

const valuesPrelude = `struct Q { s: String, t: (Int, Array<Int>) }
struct P { n: Int, xs: Array<Int>, m: Map<String, Int>, q: Array<Q>, o: Option<Array<Int>>, f: Float, fs: Array<Float> }
struct T { k: Array<T>, v: Int }
struct Box<T> { held: T, old: Array<T> }
enum E { Leaf, Num(Int), List(Array<Int>), Both { p: P, xs: Array<Int> } }
impl P {
    fn add(mut self, n: Int) -> Int { self.xs.push(n); self.n += 1; self.xs.len() }
    fn boom(mut self, n: Int) { self.xs.push(n); self.m["boom"] = n; if n % 3 == 0 { throw "boom"; } self.n = n; }
    fn get(self) -> Array<Int> { self.xs }
    fn swap(mut self, ys: Array<Int>) -> Array<Int> { let old = self.xs; self.xs = ys; old }
    fn grown(self, n: Int) -> P { let mut p = self; p.xs.push(n); p.q.push(Q { s: "g", t: (n, self.xs) }); cutp(p) }
    fn first(self) -> Option<Int> { let x = self.xs.first()?; Some(x + self.n) }
}
impl T {
    fn size(self) -> Int { 1 + self.k.map(|t| t.size()).sum() }
    fn grow(mut self, t: T) { if self.size() + t.size() < 16 { self.k.push(t); } else { self.k.clear(); } }
}
impl Q { fn put(mut self, n: Int) -> Q { let old = self; self.t.1.push(n); self.t.0 = n; old } }
impl<T> Box<T> {
    fn put(mut self, x: T) -> T { let was = self.held; self.old.push(was); if self.old.len() > 6 { self.old.clear(); } self.held = x; was }
    fn take(mut self) -> Option<T> { self.old.pop() }
}
impl E {
    fn size(self) -> Int { match self { E::Leaf => 0, E::Num(n) => n % 100, E::List(xs) => xs.len(), E::Both { p, xs } => p.xs.len() + xs.len() } }
    fn turn(mut self) { self = match self { E::Leaf => E::Num(1), E::Num(n) => E::List([n]), E::List(xs) => E::Both { p: newp(xs), xs: xs }, E::Both { p, .. } => E::List(p.xs) }; }
}
fn newp(xs: Array<Int>) -> P { P { n: xs.len(), xs: xs, m: {}, q: [], o: nil, f: 2, fs: [1] } }
fn same<T>(x: T) -> T { x }
fn cut(xs: Array<Int>) -> Array<Int> { if xs.len() > 9 { xs.slice(0, 9) } else { xs } }
fn cutg(g: Array<Array<Int>>) -> Array<Array<Int>> { if g.len() > 5 { g.slice(0, 5) } else { g } }
fn cuts(s: String) -> String { if s.len() > 12 { s[..12] } else { s } }
fn cutp(mut p: P) -> P { if p.q.len() > 4 { p.q.clear(); } p.xs = cut(p.xs); p }
fn cutt(t: T) -> T { if t.size() > 12 { T { k: [], v: t.v } } else { t } }
fn half(n: Int) -> Result<Int, String> { if n % 2 == 0 { Ok(n / 2) } else { Err("odd ${n}") } }
fn some(n: Int) -> Option<Int> { if n % 3 == 0 { nil } else { n } }
fn ints() -> Array<Int> { [] }
fn floats() -> Array<Float> { [] }
fn grid() -> Array<Array<Int>> { [] }
fn counts() -> Map<String, Int> { let m: Map<String, Int> = {}; m }
fn lists() -> Map<String, Array<Int>> { let m: Map<String, Array<Int>> = {}; m }
fn none() -> Option<Array<Int>> { None }
fn fine(n: Int) -> Result<Int, String> { Ok(n) }
fn bad(s: String) -> Result<Int, String> { Err(s) }
fn any(x: Any) -> Any { x }
fn show(name: String, x: Any) { println(name, x); }
`

// write adds a line at the current depth.
func (g *gen) write(format string, args ...any) {
	g.out.WriteString(strings.Repeat("    ", g.depth))
	fmt.Fprintf(&g.out, format, args...)
	g.out.WriteByte('\n')
}

// open and close enclose a block with its own scope.
func (g *gen) open(format string, args ...any) {
	g.write(format, args...)
	g.enter()
}

func (g *gen) close(tail string) {
	g.leave()
	g.write("%s", tail)
}

func (g *gen) enter() {
	g.depth++
	g.scopes = append(g.scopes, nil)
}

func (g *gen) leave() {
	g.depth--
	g.scopes = g.scopes[:len(g.scopes)-1]
}

func (g *gen) freshName(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *gen) bind(v *variable) { g.scopes[len(g.scopes)-1] = append(g.scopes[len(g.scopes)-1], v) }

// visible lists the matching variables in scope.
func (g *gen) visible(fits func(*variable) bool) []*variable {
	var out []*variable
	for _, s := range g.scopes {
		for _, v := range s {
			if fits(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// pick chooses one element of xs and prefers the last ones.
func pick[T any](g *gen, xs []T) T { return xs[len(xs)-1-g.choose(len(xs))] }

// values writes a program of subject Values: some functions, and main.
func (g *gen) values() {
	for range 1 + g.choose(4) {
		g.function()
	}
	g.main()
}

// function writes a function that calls only earlier ones.
func (g *gen) function() {
	f := &function{name: g.freshName("f"), result: g.kind()}
	g.scopes = [][]*variable{nil}
	var params []string
	for range g.choose(4) {
		p := &variable{name: g.freshName("p"), kind: g.kind(), mutable: g.choose(2) == 1}
		f.params = append(f.params, p)
		g.bind(p)
		mut := ""
		if p.mutable {
			mut = "mut "
		}
		params = append(params, fmt.Sprintf("%s%s: %s", mut, p.name, p.kind))
	}
	g.home = home{result: f.result}
	g.write("fn %s(%s) -> %s {", f.name, strings.Join(params, ", "), f.result)
	g.depth++
	for _, p := range f.params {
		g.writeCapture(p)
	}
	g.declareCrowd()
	for range 1 + g.choose(3) {
		g.declare()
	}
	g.statements(1 + g.choose(5))
	g.write("%s", g.expr(f.result, 2))
	g.depth--
	g.write("}")
	g.fns = append(g.fns, f)
}

// main prints all its variables at the end.
func (g *gen) main() {
	g.scopes = [][]*variable{nil}
	g.home = home{main: true}
	g.open("fn main() {")
	g.declareCrowd()
	for range 4 + g.choose(4) {
		g.declare()
	}
	for range 1 + g.choose(2) { // handlers share the statements before and after them with the function
		g.writeGuarded()
	}
	switch g.form {
	case Handled:
		g.open("let _ = listen Worker.execute(\"go\") { \"go\" => |m| {")
	case Nested:
		g.write("let _ = listen Worker.execute(\"go\") { \"go\" => |a| {")
		g.open("let _ = listen Worker.execute(\"go\") { \"go\" => |b| {")
	default:
		g.open("{")
	}
	for range 3 + g.choose(7) {
		g.writeGuarded()
	}
	g.printState()
	switch g.form {
	case Handled:
		g.close("} };")
	case Nested:
		g.close("} }; } };")
	default:
		g.close("}")
	}
	for range 1 + g.choose(2) {
		g.writeGuarded()
	}
	g.printState()
	if g.last != nil {
		g.last(g)
	}
	g.close("}")
}

// declareCrowd declares variables that fill the registers.
func (g *gen) declareCrowd() {
	if g.form != Crowded {
		return
	}
	var b strings.Builder
	for i := range 240 {
		fmt.Fprintf(&b, "let c%d = %d; ", i, i)
	}
	g.write("%s", b.String())
}

// writeCapture writes the closure that moves a variable into a cell.
func (g *gen) writeCapture(v *variable) {
	if g.form == Captured && v.mutable && v.kind != nil {
		g.write("let _touch_%s = || { %s = %s; };", v.name, v.name, v.name)
	}
}

// printState prints the variables in scope.
func (g *gen) printState() {
	for _, v := range g.visible(func(v *variable) bool { return v.kind != nil }) {
		g.write("show(%q, %s);", v.name, v.name)
	}
}
