package vm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// TestValuesDoNotAlias runs random programs about nested values twice: as they
// are, and with every copy made at once. That they agree shows that no
// assignment, call, capture, loop or error lets two names see one value.
func TestValuesDoNotAlias(t *testing.T) {
	for seed := range uint64(150) {
		text := newAuthor(seed).program()
		p, problems := build(text)
		if problems != "" {
			t.Fatalf("seed %d does not compile: %s\n%s", seed, problems, text)
		}
		fast, slow := play(t, p, false), play(t, p, true)
		if fast != slow {
			t.Fatalf("seed %d: the program sees a value it does not own\n%s\n--- got\n%s\n--- want\n%s", seed, text, fast, slow)
		}
	}
}

// build makes the IR of a program, or says what is wrong with it.
func build(text string) (p *ir.Program, problems string) {
	tree, diags := parser.Parse(source.NewFile("main.conc", []byte(text)))
	if !diags.HasErrors() {
		var checked *sema.Program
		checked, diags = sema.Check(sema.Config{Name: "main", Library: stdlib.Library(), Manifest: &sema.Manifest{}}, tree)
		if !diags.HasErrors() {
			p, diags = codegen.Generate(checked, codegen.ManifestData{})
			if err := ir.Verify(p); err != nil && !diags.HasErrors() {
				problems += err.Error() + "\n"
			}
		}
	}
	for _, d := range diags.Sorted() {
		if d.Severity() == 0 {
			at := d.File.Position(d.Span.Start)
			problems += fmt.Sprintf("%d:%d: %s\n", at.Line, at.Column, d.Message)
		}
	}
	return p, problems
}

// play gives what a program emits, and how it ends.
func play(t *testing.T, p *ir.Program, copies bool) string {
	var out strings.Builder
	m, err := vm.New(vm.Config{Program: p, Natives: stdlib.Natives(), AlwaysCopy: copies, Cover: copies,
		Performer: effect.PerformerFunc(func(_ context.Context, r effect.Request) (effect.Result, error) {
			e, ok := r.(*effect.Emit)
			if !ok {
				return nil, fmt.Errorf("unexpected effect %s", r.Kind())
			}
			fmt.Fprintf(&out, "%s %s\n", e.Channel, e.Payload)
			return nil, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	var u *vm.Uncaught
	if _, err := m.Run(context.Background()); errors.As(err, &u) {
		fmt.Fprintf(&out, "uncaught %s\n", u.Message)
	} else if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// author writes programs. Every statement stands in a try of its own, so that
// faults (there are many) leave values half changed and the program goes on.
type author struct {
	*rand.Rand
	depth int
	loops int
}

func newAuthor(seed uint64) *author { return &author{Rand: rand.New(rand.NewPCG(seed, 42))} }

const preamble = `
struct P { xs: Array<Int>, n: Int }
impl P {
    fn grow(mut self, v: Int) { self.xs.push(v); self.n += 1; }
    fn grown(self, v: Int) -> P { let mut p = self; p.grow(v); p }
    fn fail(mut self, v: Int) -> Int { self.xs.push(v); throw RuntimeError::new("failed"); }
}
fn add(a: Array<Int>, v: Int) -> Array<Int> { let mut b = a; b.push(v); b }
fn keep(a: Array<Int>, b: Array<Int>) -> Array<Array<Int>> { [a, b, a] }
fn pick(m: Map<String, Array<Int>>, k: String) -> Array<Int> { m.get(k) ?? [] }
fn cut(a: Array<Int>) -> Array<Int> { if a.len() > 8 { a[2..6] } else { a } }
fn few(a: Array<Array<Int>>) -> Array<Array<Int>> { if a.len() > 6 { a[1..4] } else { a } }
fn wrap(p: P) -> (Array<Int>, P) { let mut xs = p.xs; xs.push(p.n); (xs, p) }
fn any(v: Any) -> Any { v }
`

func (a *author) program() string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("fn main() {\n")
	for i := range 2 {
		fmt.Fprintf(&b, "let mut a%d: Array<Int> = [%d];\nlet mut n%d: Array<Array<Int>> = [[%d], []];\n", i, i, i, i)
		fmt.Fprintf(&b, "let mut m%d: Map<String, Array<Int>> = { \"x\": [%d] };\nlet mut p%d = P { xs: [%d], n: 0 };\n", i, i, i, i)
		fmt.Fprintf(&b, "let mut q%d: Array<P> = [p%d];\nlet mut t%d: (Array<Int>, P) = ([%d], p%d);\n", i, i, i, i, i)
	}
	for range 25 {
		a.depth = 0
		fmt.Fprintf(&b, "try { %s } catch Error(e) { emit(\"error\", e.message); }\n", a.statement())
		if a.IntN(3) == 0 {
			fmt.Fprintf(&b, "emit(\"see\", %s);\n", a.variable())
		}
	}
	b.WriteString("emit(\"end\", [any(a0), any(a1), any(n0), any(n1), any(m0), any(m1), any(p0), any(p1), any(q0), any(q1), any(t0), any(t1)]);\n}\n")
	return b.String()
}

func (a *author) of(s ...string) string { return s[a.IntN(len(s))] }

// name gives one of the two variables of a sort.
func (a *author) name(sort string) string { return fmt.Sprintf("%s%d", sort, a.IntN(2)) }
func (a *author) variable() string        { return a.name(a.of("a", "n", "m", "p", "q", "t")) }
func (a *author) index() string           { return a.of("0", "0", "0", "1", "1", "2") }
func (a *author) key() string             { return a.of(`"x"`, `"x"`, `"y"`) }

// place gives a mutable place that holds an Array<Int>.
func (a *author) place() string {
	switch a.IntN(8) {
	case 0:
		return a.name("n") + "[" + a.index() + "]"
	case 1:
		return a.name("m") + "[" + a.key() + "]"
	case 2:
		return a.name("p") + ".xs"
	case 3:
		return a.name("q") + "[" + a.index() + "].xs"
	case 4:
		return a.name("t") + ".0"
	case 5:
		return a.name("t") + ".1.xs"
	}
	return a.name("a")
}

func (a *author) statement() string {
	if a.depth++; a.depth > 3 {
		return a.place() + ".push(" + a.number() + ");"
	}
	switch a.IntN(18) {
	case 0, 1, 2:
		return a.place() + ".push(" + a.number() + ");"
	case 3:
		return a.place() + "[" + a.index() + "] = " + a.number() + ";"
	case 4, 5:
		return a.place() + " = " + a.array() + ";"
	case 6:
		return a.name("n") + " = few(" + a.nested() + ");"
	case 7:
		return a.name("m") + " = " + a.mapping() + ";"
	case 8:
		return a.name("p") + " = " + a.point() + ";"
	case 9:
		return a.name("q") + " = [" + a.point() + ", " + a.point() + "];"
	case 10:
		return a.name("t") + " = " + a.of("("+a.array()+", "+a.point()+")", "wrap("+a.point()+")") + ";"
	case 11:
		return a.of(a.name("p"), a.name("q")+"["+a.index()+"]", a.name("t")+".1") + a.of(".grow(", ".grow(", ".fail(") + a.number() + ");"
	case 12:
		return "let (x, y) = " + a.name("t") + "; " + a.name("a") + " = x; " + a.name("p") + " = y; " + a.statement()
	case 13:
		a.loops++
		return fmt.Sprintf("for v%d in %s { %s = cut(add(%s, v%d)); %s }", a.loops, a.array(), a.name("a"), a.array(), a.loops, a.statement())
	case 14:
		a.loops++
		return fmt.Sprintf("for w%d in %s { let mut z = w%d; z.push(7); %s = cut(z); %s }", a.loops, a.nested(), a.loops, a.name("a"), a.statement())
	case 15:
		v := a.name("a")
		return "let f = |v: Int| { " + v + " = cut(add(" + v + ", v)); " + a.name("n") + "[0] = " + v + "; v }; f(" + a.number() + "); " + a.statement() + " f(2);"
	case 16:
		return "if " + a.number() + " > 1 { " + a.statement() + " } else { " + a.statement() + " }"
	}
	return "let mut z = " + a.array() + "; let y = z; z.push(9); " + a.place() + " = cut(z); emit(\"y\", y);"
}

func (a *author) number() string {
	switch a.IntN(6) {
	case 0:
		return a.place() + ".len()"
	case 1:
		return a.name("p") + ".n"
	case 2:
		return a.name("a") + "[" + a.index() + "]"
	}
	return a.of("1", "2", "3")
}

func (a *author) array() string {
	if a.depth++; a.depth > 6 {
		return a.name("a")
	}
	switch a.IntN(11) {
	case 0:
		return "[" + a.number() + ", " + a.number() + "]"
	case 1:
		return "cut(add(" + a.array() + ", " + a.number() + "))"
	case 2:
		return "cut(" + a.array() + " + " + a.array() + ")"
	case 3:
		return "pick(" + a.name("m") + ", " + a.key() + ")"
	case 4:
		return "(if " + a.number() + " == 1 { " + a.array() + " } else { " + a.array() + " })"
	case 5:
		return a.array() + ".map(|x| x + 1)"
	case 6:
		return "(match " + a.name("m") + ".get(" + a.key() + ") { Some(v) => v, None => " + a.array() + " })"
	}
	return a.place()
}

func (a *author) nested() string {
	switch a.IntN(4) {
	case 0:
		return "[" + a.array() + ", " + a.array() + "]"
	case 1:
		return "keep(" + a.array() + ", " + a.array() + ")"
	case 2:
		return a.name("q") + ".map(|p| p.xs)"
	}
	return a.name("n")
}

func (a *author) mapping() string {
	if a.IntN(2) == 0 {
		return "{ \"x\": " + a.array() + ", \"y\": " + a.array() + " }"
	}
	return a.name("m")
}

func (a *author) point() string {
	switch a.IntN(6) {
	case 0:
		return "P { xs: " + a.array() + ", n: " + a.number() + " }"
	case 1:
		return a.name("p") + ".grown(" + a.number() + ")"
	case 2:
		return a.name("q") + "[" + a.index() + "]"
	case 3:
		return a.name("t") + ".1"
	case 4:
		return "P { n: 5, .." + a.name("p") + " }"
	}
	return a.name("p")
}
