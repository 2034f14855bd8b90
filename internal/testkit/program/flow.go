package program

import (
	"fmt"
	"strings"
)

// Flow generates programs about control flow. They contain nested loops, and tries, matches and
// conditions whose branches yield a value or jump. They contain small functions that the compiler
// inlines, and closures passed to the library's loops. Errors, raised directly or by `?`, pass
// through all of these.
var Flow = &Subject{
	prelude: flowPrelude,
	kinds:   []*kind{wInt, wInt, wInt, wInt, wString, wResult, wOption, wEnum, wBool},
	letters: map[byte]*kind{'n': wInt, 'b': wBool, 's': wString, 'r': wResult, 'o': wOption, 'e': wEnum, 'a': wInts},
	budget:  70,
}

func init() {
	Flow.program = (*gen).flow
	Flow.last = (*gen).fail
	Flow.writers = []func(*gen){
		(*gen).print, (*gen).declareValue, (*gen).declareValue, (*gen).flowLoop, (*gen).declareValue, (*gen).changeVariable, (*gen).flowLoop, (*gen).leaveIf, (*gen).declareValue,
		(*gen).flowTry, (*gen).flowMatch, (*gen).flowIf, (*gen).leaveIf, (*gen).flowLoop, (*gen).assignConstruct, (*gen).bindOrJump, (*gen).callEach, (*gen).newVariable,
		(*gen).changeVariable, (*gen).flowClosure,
	}
}

const flowPrelude = `enum E { Leaf, Num(Int), Pair(Int, Int), Text(String) }
fn show(name: String, x: Any) { println(name, x); }
fn same<T>(x: T) -> T { x }
fn clip(n: Int) -> Int { n % 1000 }
fn cuts(s: String) -> String { if s.len() > 12 { s[..12] } else { s } }
fn ok(n: Int) -> Result<Int, String> { Ok(n) }
fn err(s: String) -> Result<Int, String> { Err(s) }
fn some(n: Int) -> Option<Int> { if n % 3 == 0 { nil } else { n } }
fn sized(e: E) -> Int { match e { E::Leaf => 0, E::Num(n) => n, E::Pair(a, b) => a - b, E::Text(s) => s.len() } }
`

// The kinds of subject Flow are few and small, because it tests paths and not the values on them.
var (
	wInt = &kind{
		name: "Int", constants: []string{"%i"}, cut: "clip",
		values: []string{
			"clip(%n + %n)", "(%n % 7)", "clip(%n * %i)", "(%n - %i)", "sized(%e)", "%s.len()", "(%o ?? %n)", "%r.unwrap_or(%n)", "(if %b { %n } else { %n })",
			"(match %r { Ok(v) => v, Err(m) => m.len() })", "(match %e { E::Num(v) => v, E::Pair(v, 0) => v, E::Text(\"a\") => 1, _ => %n })",
			"(match %n { 0 => 1, 1..4 => 2, v if v > 9 => v % 9, _ => 3 })", "(try { %r? } catch { %n })", "%a.map(|v| v % 5).sum()", "(100 / %n)",
		},
	}
	wBool   = &kind{name: "Bool", constants: []string{"true", "false"}, values: []string{"(%n < %n)", "(%n == %n)", "(%n % 2 == %i)", "!%b", "(%b && %b)", "(%b || %b)", "%r.is_ok()", "%o.is_some()", "(%s == %s)"}}
	wString = &kind{name: "String", constants: []string{`"a"`, `"k%i"`, `""`}, cut: "cuts",
		values: []string{`cuts("${%n}-${%s}")`, "cuts(%s + %s)", "(if %b { %s } else { %s })", "(match %s { \"a\" => \"b\", \"\" => %s, v => v })"}}
	wResult = &kind{name: "Result<Int, String>", constants: []string{"ok(%i)", `err("e%i")`}, values: []string{"ok(%n)", "err(%s)", "%r.map(|v| v % 10)", "%o.ok_or(\"none\")", "(if %b { %r } else { %r })"}}
	wOption = &kind{name: "Option<Int>", constants: []string{"some(%i)", "Some(%i)"}, values: []string{"some(%n)", "%r.ok()", "%a.first()", "%a.find(|v| v > %n)"}}
	wEnum   = &kind{name: "E", constants: []string{"E::Leaf", "E::Num(%i)"}, values: []string{"E::Num(%n)", "E::Pair(%n, %n)", "E::Text(%s)", "(if %b { %e } else { %e })"}}
	wInts   = &kind{name: "Array<Int>", constants: []string{"[1, %i, 3]", "[%i, 0, 2, %i]", "[%i]"}, values: []string{"[%n, %n]", "[%n, 1, %n]"}}
)

// small lists the bodies of functions that the compiler inlines, with the kind of the result. Each
// function has a parameter n. %c represents a call of an earlier function.
var small = []struct {
	result *kind
	body   string
}{
	{wResult, `{ if n > %i { Err("big ${n}") } else { Ok(n) } }`},
	{wResult, `{ if n % 3 == 0 { return Err("three"); } Ok(n + 1) }`},
	{wResult, `{ let x = %c?; Ok(x + %i) }`},
	{wResult, `{ let x = try { %c? } catch { return Err("caught"); }; Ok(x) }`},
	{wResult, `{ match %c { Ok(v) if v > %i => Err("over"), r => r } }`},
	{wInt, `{ n + %i }`},
	{wInt, `{ if n % %i == 1 { throw "odd"; } n }`},
	{wInt, `{ %c? + 1 }`},
	{wInt, `{ try { %c? } catch { %i } }`},
	{wInt, `{ try { %c? } catch String(m) { m.len() } }`},
	{wInt, `{ let mut s = 0; for i in 0..n { if i > %i { break; } s += i; } s }`},
	{wInt, `{ for i in 0..3 { let x = try { %c? } catch { continue; }; if x > i { return x; } } n }`},
	{wInt, `{ match %c { Ok(v) => v, Err(_) => { throw E::Num(n); } } }`},
	{wOption, `{ if n < %i { None } else { Some(n) } }`},
	{wOption, `{ let x = %c.ok()?; Some(x % 9) }`},
}

// flow writes a program of subject Flow.
func (g *gen) flow() {
	g.fns = append(g.fns, &function{name: "ok", params: []*variable{{kind: wInt}}, result: wResult})
	for range 2 + g.choose(4) {
		g.smallFunction()
	}
	for range g.choose(3) {
		g.flowFunction()
	}
	g.main()
}

func (g *gen) smallFunction() {
	f := &function{name: g.freshName("f"), params: []*variable{{name: "n", kind: wInt}}}
	s := small[g.choose(len(small))]
	var before []*function
	for _, x := range g.fns {
		if x.result == wResult {
			before = append(before, x)
		}
	}
	body := strings.ReplaceAll(s.body, "%c", pick(g, before).name+"(n)")
	body = strings.ReplaceAll(body, "n % %i", fmt.Sprintf("n %% %d", 2+g.choose(3))) // the divisor must not be 0
	f.result = s.result
	g.write("fn %s(n: Int) -> %s %s", f.name, f.result, g.fill(body, 0))
	g.fns = append(g.fns, f)
}

// fail writes an expression whose error may leave main, so that the run prints the error's trace.
func (g *gen) fail() {
	for range 3 {
		g.write("show(\"last\", (%s)?);", g.expr(wResult, 2))
	}
}

// flowFunction writes a function with its own loops and tries.
func (g *gen) flowFunction() {
	f := &function{name: g.freshName("f"), result: []*kind{wInt, wResult, wInt, wString}[g.choose(4)]}
	p := &variable{name: g.freshName("p"), kind: wInt, mutable: g.choose(2) == 1}
	f.params = []*variable{p}
	mut := ""
	if p.mutable {
		mut = "mut "
	}
	g.scopes = [][]*variable{{p}}
	g.home = home{result: f.result}
	g.write("fn %s(%s%s: Int) -> %s {", f.name, mut, p.name, f.result)
	g.depth++
	g.writeCapture(p)
	g.declareCrowd()
	g.declare()
	budget := g.left
	g.left = 12
	g.statements(2 + g.choose(3))
	g.tail(f.result, 2)
	g.left = budget
	g.depth--
	g.write("}")
	g.fns = append(g.fns, f)
}
