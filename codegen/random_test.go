package codegen_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// TestRandomPrograms runs random programs that assign, mutate, pass, capture
// and catch nested values, and holds what they emit against an evaluator that
// copies at every step: first with copy-on-write, then with every copy made.
func TestRandomPrograms(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 30
	}
	for seed := range n {
		g := &gen{r: rand.New(rand.NewSource(int64(seed)))}
		text, want := g.program()
		p := compile(t, text)
		for _, copies := range []bool{false, true} {
			if got := run(t, p, "", copies); got != want {
				t.Fatalf("seed %d, copies %t:\n%s\ngot\n%s\nwant\n%s", seed, copies, text, got, want)
			}
		}
	}
}

const helpers = `struct P { n: Int, xs: Array<Int>, o: Option<Array<Int>> }
impl P {
    fn add(mut self, n: Int) -> Int { self.xs.push(n); self.n += n; self.xs.len() }
    fn boom(mut self, n: Int) { self.xs.push(n); if n % 3 == 0 { throw "boom"; } self.n = n; }
    fn get(self) -> Array<Int> { self.xs }
    fn swap(mut self, ys: Array<Int>) -> Array<Int> { let old = self.xs; self.xs = ys; old }
}
fn none() -> Option<Array<Int>> { None }
fn same(xs: Array<Int>) -> Array<Int> { xs }
fn pushed(mut xs: Array<Int>, n: Int) -> Array<Int> { xs.push(n); xs }
fn two(xs: Array<Int>) -> Array<Array<Int>> { [xs, xs] }
fn moved(mut p: P) -> P { p.n += 1; p.xs.push(p.n); p }
fn sum(xs: Array<Int>) -> Int { let mut s = 0; for x in xs { s += x; } s }
fn applied(xs: Array<Int>, f: fn(Int) -> Nil, n: Int) -> Int { f(n); sum(xs) }
fn held(p: P, f: fn(Int) -> Nil, n: Int) -> Array<Int> { let xs = p.xs; f(n); xs + p.xs }
fn grown(mut g: Array<Array<Int>>) -> Array<Array<Int>> { for xs in g { g.push(xs); break; } g }
`

// kind is the type of a generated expression.
type kind string

const (
	kInt  kind = "Int"
	kArr  kind = "Array<Int>"
	kGrid kind = "Array<Array<Int>>"
	kP    kind = "P"
	kOpt  kind = "Option<Array<Int>>"
)

// The evaluator's values: int, []any, *pvalue, and nil for None.
type pvalue struct {
	n  int
	xs []any
	o  any
}

func clone(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	case *pvalue:
		return &pvalue{v.n, clone(v.xs).([]any), clone(v.o)}
	}
	return v
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *pvalue:
		return fmt.Sprintf(`{"n":%d,"xs":%s,"o":%s}`, v.n, show(v.xs), show(v.o))
	}
	return fmt.Sprint(v)
}

// raised is an error on its way; out collects what the program emits.
type raised struct{}

type box struct{ v any }

type ex struct {
	src  string
	eval func() any
}

type st struct {
	src  string
	exec func()
}

type local struct {
	name string
	kind kind
	mut  bool
	at   *box
}

type gen struct {
	r     *rand.Rand
	vars  []*local
	fns   []closureVar
	names int
	out   strings.Builder
	depth int
}

type closureVar struct {
	name string
	call func(n int)
}

func (g *gen) name() string { g.names++; return fmt.Sprintf("v%d", g.names) }
func (g *gen) pick(n int) int {
	return g.r.Intn(n)
}

func (g *gen) program() (text, want string) {
	body := g.block(14+g.pick(10), true)
	var b strings.Builder
	b.WriteString(helpers + "fn main() {\n" + body.src + "}\n")
	func() {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(raised); !ok {
					panic(r)
				}
			}
		}()
		body.exec()
	}()
	return b.String(), g.out.String()
}

// block is a block of statements; what it declares is emitted at its end.
// Statements outside of a try are kept from raising: each that might stands in
// one.
func (g *gen) block(n int, top bool) st {
	mark, fns := len(g.vars), len(g.fns)
	var list []st
	for range n {
		list = append(list, g.stmt())
	}
	for _, l := range g.vars[mark:] {
		list = append(list, g.emit(l))
	}
	g.vars, g.fns = g.vars[:mark], g.fns[:fns]
	return seq(list)
}

func seq(list []st) st {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.src + "\n")
	}
	return st{b.String(), func() {
		for _, s := range list {
			s.exec()
		}
	}}
}

func (g *gen) emit(l *local) st {
	return st{fmt.Sprintf("emit(%q, %s);", l.name, l.name), func() { fmt.Fprintf(&g.out, "[%s] %s\n", l.name, show(l.at.v)) }}
}

func (g *gen) caught(s st) st {
	return st{"try {\n" + s.src + "\n} catch { emit(\"caught\", 1); }", func() {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(raised); !ok {
					panic(r)
				}
				g.out.WriteString("[caught] 1\n")
			}
		}()
		s.exec()
	}}
}

func (g *gen) stmt() st {
	g.depth++
	defer func() { g.depth-- }()
	choice := g.pick(14)
	if g.depth > 3 {
		choice = g.pick(8)
	}
	switch choice {
	case 0, 1, 2:
		return g.let()
	case 3:
		return g.caught(g.assign())
	case 4, 5:
		return g.caught(g.push())
	case 6:
		return g.caught(g.method())
	case 7:
		return g.caught(g.compound())
	case 8:
		return g.loop()
	case 9:
		s := g.block(2+g.pick(3), false)
		c := g.expr(kInt, 1)
		s2 := g.block(1+g.pick(2), false)
		return g.caught(st{"if " + c.src + " > 2 {\n" + s.src + "} else {\n" + s2.src + "}", func() {
			if c.eval().(int) > 2 {
				s.exec()
			} else {
				s2.exec()
			}
		}})
	case 10:
		return g.caught(g.block(2+g.pick(3), false))
	case 11:
		return g.closure()
	case 12:
		return g.callClosure()
	default:
		return g.caught(g.self())
	}
}

// let declares a variable; its value cannot raise, for the declaration must
// hold.
func (g *gen) let() st {
	k := []kind{kInt, kArr, kArr, kGrid, kP, kP, kOpt}[g.pick(7)]
	x := g.safe(k)
	l := &local{name: g.name(), kind: k, mut: g.pick(4) > 0, at: &box{}}
	mut := ""
	if l.mut {
		mut = "mut "
	}
	at := l.at
	g.vars = append(g.vars, l)
	return st{fmt.Sprintf("let %s%s: %s = %s;", mut, l.name, k, x.src), func() { at.v = x.eval() }}
}

// safe is an expression that cannot raise.
func (g *gen) safe(k kind) ex {
	x := g.expr(k, 2)
	if !strings.Contains(x.src, "[") && !strings.Contains(x.src, "boom") || k == kInt && !strings.Contains(x.src, "[") {
		return x
	}
	d := g.leaf(k)
	return ex{"try { " + x.src + " } catch { " + d.src + " }", func() (v any) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(raised); !ok {
					panic(r)
				}
				v = d.eval()
			}
		}()
		return x.eval()
	}}
}

func (g *gen) find(k kind, mut bool) *local {
	var fit []*local
	for _, l := range g.vars {
		if l.kind == k && (!mut || l.mut) {
			fit = append(fit, l)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[g.pick(len(fit))]
}

// leaf is a variable or literal.
func (g *gen) leaf(k kind) ex {
	if l := g.find(k, false); l != nil && g.pick(4) > 0 {
		at := l.at
		return ex{l.name, func() any { return clone(at.v) }}
	}
	switch n := g.pick(9); k {
	case kInt:
		return ex{fmt.Sprint(n), func() any { return n }}
	case kArr:
		return ex{fmt.Sprintf("[%d, %d]", n, n+1), func() any { return []any{n, n + 1} }}
	case kGrid:
		return ex{fmt.Sprintf("[[%d], [1]]", n), func() any { return []any{[]any{n}, []any{1}} }}
	case kP:
		return ex{fmt.Sprintf("P { n: %d, xs: [%d], o: None }", n, n), func() any { return &pvalue{n, []any{n}, nil} }}
	}
	return ex{"none()", func() any { return nil }}
}

func (g *gen) expr(k kind, depth int) ex {
	if depth == 0 {
		return g.leaf(k)
	}
	d := depth - 1
	if g.pick(12) == 0 {
		return g.blockExpr(k, d)
	}
	if g.pick(9) == 0 && k != kInt {
		c, x, y := g.expr(kInt, d), g.expr(k, d), g.expr(k, d)
		return ex{"(if " + c.src + " > 3 { " + x.src + " } else { " + y.src + " })", func() any {
			if c.eval().(int) > 3 {
				return x.eval()
			}
			return y.eval()
		}}
	}
	switch k {
	case kInt:
		return g.intExpr(d)
	case kArr:
		return g.arrExpr(d)
	case kGrid:
		return g.gridExpr(d)
	case kP:
		return g.pExpr(d)
	}
	if g.pick(2) == 0 {
		x := g.expr(kArr, d)
		return ex{"Some(" + x.src + ")", x.eval}
	}
	if l := g.find(kP, false); l != nil {
		at := l.at
		return ex{l.name + ".o", func() any { return clone(at.v.(*pvalue).o) }}
	}
	return g.leaf(kOpt)
}

// blockExpr changes something and then gives a value.
func (g *gen) blockExpr(k kind, d int) ex {
	s := g.push()
	x := g.expr(k, d)
	return ex{"({ " + s.src + " " + x.src + " })", func() any { s.exec(); return x.eval() }}
}

func at(xs []any, i int) int {
	if i < 0 || i >= len(xs) {
		panic(raised{})
	}
	return i
}

func (g *gen) intExpr(d int) ex {
	switch g.pick(7) {
	case 5:
		if len(g.fns) > 0 {
			c, x, n := g.fns[g.pick(len(g.fns))], g.expr(kArr, d), g.leaf(kInt)
			return ex{"applied(" + x.src + ", " + c.name + ", " + n.src + ")", func() any {
				xs := x.eval().([]any)
				c.call(n.eval().(int))
				s := 0
				for _, v := range xs {
					s += v.(int)
				}
				return s
			}}
		}
	case 0:
		x := g.expr(kArr, d)
		return ex{"(" + x.src + ").len()", func() any { return len(x.eval().([]any)) }}
	case 1:
		x, i := g.expr(kArr, d), g.expr(kInt, d)
		return ex{"(" + x.src + ")[" + i.src + "]", func() any { xs := x.eval().([]any); return xs[at(xs, i.eval().(int))] }}
	case 2:
		x := g.expr(kP, d)
		return ex{"(" + x.src + ").n", func() any { return x.eval().(*pvalue).n }}
	case 3:
		x := g.expr(kArr, d)
		return ex{"sum(" + x.src + ")", func() any {
			s := 0
			for _, v := range x.eval().([]any) {
				s += v.(int)
			}
			return s
		}}
	case 4:
		if l := g.find(kP, true); l != nil {
			b, n := l.at, g.expr(kInt, d)
			return ex{l.name + ".add(" + n.src + ")", func() any {
				v := n.eval().(int)
				p := b.v.(*pvalue)
				p.xs = append(p.xs, v)
				p.n += v
				return len(p.xs)
			}}
		}
	}
	x, y := g.expr(kInt, d), g.expr(kInt, d)
	return ex{"(" + x.src + " + " + y.src + ") % 1000", func() any { a := x.eval().(int); return (a + y.eval().(int)) % 1000 }}
}

func (g *gen) arrExpr(d int) ex {
	switch g.pick(10) {
	case 8:
		if len(g.fns) > 0 {
			c, x, n := g.fns[g.pick(len(g.fns))], g.expr(kP, d), g.leaf(kInt)
			return ex{"held(" + x.src + ", " + c.name + ", " + n.src + ")", func() any {
				p := x.eval().(*pvalue)
				c.call(n.eval().(int))
				return append(clone(p.xs).([]any), clone(p.xs).([]any)...)
			}}
		}
	case 0:
		x, n := g.expr(kArr, d), g.expr(kInt, d)
		return ex{"pushed(" + x.src + ", " + n.src + ")", func() any { xs := x.eval().([]any); return append(xs, n.eval()) }}
	case 1:
		x := g.expr(kArr, d)
		return ex{"same(" + x.src + ")", x.eval}
	case 2:
		x, y := g.expr(kArr, d), g.expr(kArr, d)
		return ex{"(" + x.src + " + " + y.src + ")", func() any { xs := x.eval().([]any); return append(xs, y.eval().([]any)...) }}
	case 3:
		x, i := g.expr(kGrid, d), g.expr(kInt, d)
		return ex{"(" + x.src + ")[" + i.src + "]", func() any { xs := x.eval().([]any); return xs[at(xs, i.eval().(int))] }}
	case 4:
		x := g.expr(kP, d)
		return ex{"(" + x.src + ").get()", func() any { return x.eval().(*pvalue).xs }}
	case 5:
		x, y := g.expr(kOpt, d), g.expr(kArr, d)
		return ex{"(" + x.src + " ?? " + y.src + ")", func() any {
			if v := x.eval(); v != nil {
				return v
			}
			return y.eval()
		}}
	case 6:
		x, y := g.expr(kOpt, d), g.expr(kArr, d)
		return ex{"match " + x.src + " { Some(m) => m + m, None => " + y.src + " }", func() any {
			if v := x.eval(); v != nil {
				return append(clone(v).([]any), v.([]any)...)
			}
			return y.eval()
		}}
	case 7:
		if l := g.find(kP, true); l != nil {
			b, x := l.at, g.expr(kArr, d)
			return ex{l.name + ".swap(" + x.src + ")", func() any {
				v := x.eval().([]any)
				p := b.v.(*pvalue)
				old := p.xs
				p.xs = v
				return old
			}}
		}
	}
	x, y := g.expr(kInt, d), g.expr(kInt, d)
	return ex{"[" + x.src + ", " + y.src + "]", func() any { a := x.eval(); return []any{a, y.eval()} }}
}

func (g *gen) gridExpr(d int) ex {
	switch g.pick(3) {
	case 0:
		x := g.expr(kArr, d)
		return ex{"two(" + x.src + ")", func() any { v := x.eval(); return []any{v, clone(v)} }}
	case 1:
		x := g.expr(kGrid, d)
		return ex{"grown(" + x.src + ")", func() any {
			xs := x.eval().([]any)
			if len(xs) > 0 {
				xs = append(xs, clone(xs[0]))
			}
			return xs
		}}
	}
	x, y := g.expr(kArr, d), g.expr(kArr, d)
	return ex{"[" + x.src + ", " + y.src + "]", func() any { a := x.eval(); return []any{a, y.eval()} }}
}

func (g *gen) pExpr(d int) ex {
	switch g.pick(3) {
	case 0:
		x := g.expr(kP, d)
		return ex{"moved(" + x.src + ")", func() any { p := x.eval().(*pvalue); p.n++; p.xs = append(p.xs, p.n); return p }}
	case 1:
		x, base := g.expr(kArr, d), g.expr(kP, d)
		return ex{"P { xs: " + x.src + ", ..(" + base.src + ") }", func() any {
			xs := x.eval().([]any)
			p := base.eval().(*pvalue)
			p.xs = xs
			return p
		}}
	}
	n, x, o := g.expr(kInt, d), g.expr(kArr, d), g.expr(kOpt, d)
	return ex{"P { n: " + n.src + ", xs: " + x.src + ", o: " + o.src + " }", func() any {
		a := n.eval().(int)
		xs := x.eval().([]any)
		return &pvalue{a, xs, o.eval()}
	}}
}

// place is something to assign to: its indices, then reading and writing it.
type spot struct {
	src     string
	kind    kind
	indices []ex
	get     func(ix []int) any
	set     func(ix []int, v any)
}

func (s spot) eval() []int {
	var out []int
	for _, x := range s.indices {
		out = append(out, x.eval().(int))
	}
	return out
}

// spot finds something mutable of a kind.
func (g *gen) spot(k kind) *spot {
	var all []spot
	if l := g.find(k, true); l != nil {
		b := l.at
		all = append(all, spot{l.name, k, nil, func([]int) any { return b.v }, func(_ []int, v any) { b.v = v }})
	}
	if l := g.find(kP, true); l != nil {
		p := func() *pvalue { return l.at.v.(*pvalue) }
		switch k {
		case kInt:
			i := g.expr(kInt, 1)
			all = append(all, spot{l.name + ".n", k, nil, func([]int) any { return p().n }, func(_ []int, v any) { p().n = v.(int) }},
				spot{l.name + ".xs[" + i.src + "]", k, []ex{i}, func(ix []int) any { return p().xs[at(p().xs, ix[0])] }, func(ix []int, v any) { p().xs[at(p().xs, ix[0])] = v }})
		case kArr:
			all = append(all, spot{l.name + ".xs", k, nil, func([]int) any { return p().xs }, func(_ []int, v any) { p().xs = v.([]any) }})
		case kOpt:
			all = append(all, spot{l.name + ".o", k, nil, func([]int) any { return p().o }, func(_ []int, v any) { p().o = v }})
		}
	}
	if l := g.find(kGrid, true); l != nil {
		b, i, j := l.at, g.expr(kInt, 1), g.leaf(kInt)
		row := func(ix []int) []any { rows := b.v.([]any); return rows[at(rows, ix[0])].([]any) }
		switch k {
		case kArr:
			all = append(all, spot{l.name + "[" + i.src + "]", k, []ex{i}, func(ix []int) any { return row(ix) },
				func(ix []int, v any) { rows := b.v.([]any); rows[at(rows, ix[0])] = v }})
		case kInt:
			all = append(all, spot{l.name + "[" + i.src + "][" + j.src + "]", k, []ex{i, j}, func(ix []int) any { return row(ix)[at(row(ix), ix[1])] },
				func(ix []int, v any) { row(ix)[at(row(ix), ix[1])] = v }})
		}
	}
	if l := g.find(kArr, true); l != nil && k == kInt {
		b, i := l.at, g.expr(kInt, 1)
		all = append(all, spot{l.name + "[" + i.src + "]", k, []ex{i}, func(ix []int) any { xs := b.v.([]any); return xs[at(xs, ix[0])] },
			func(ix []int, v any) { xs := b.v.([]any); xs[at(xs, ix[0])] = v }})
	}
	if len(all) == 0 {
		return nil
	}
	return &all[g.pick(len(all))]
}

var nothing = st{"{}", func() {}}

func (g *gen) assign() st {
	k := []kind{kInt, kArr, kArr, kGrid, kP, kOpt}[g.pick(6)]
	s := g.spot(k)
	if s == nil {
		return nothing
	}
	x := g.expr(k, 2)
	return st{s.src + " = " + x.src + ";", func() { ix := s.eval(); v := x.eval(); s.set(ix, v) }}
}

func (g *gen) compound() st {
	s := g.spot(kInt)
	if s == nil {
		return nothing
	}
	x := g.expr(kInt, 2)
	return st{s.src + " += " + x.src + ";", func() {
		ix := s.eval()
		old := s.get(ix).(int)
		v := x.eval().(int)
		s.set(ix, old+v)
	}}
}

func (g *gen) push() st {
	if s := g.spot(kArr); s != nil && g.pick(4) > 0 {
		x := g.expr(kInt, 1)
		return st{s.src + ".push(" + x.src + ");", func() {
			ix := s.eval()
			v := x.eval()
			s.set(ix, append(s.get(ix).([]any), v))
		}}
	}
	s := g.spot(kGrid)
	if s == nil {
		return nothing
	}
	x := g.expr(kArr, 1)
	return st{s.src + ".push(" + x.src + ");", func() {
		ix := s.eval()
		v := x.eval()
		s.set(ix, append(s.get(ix).([]any), v))
	}}
}

// method calls a mutating method that may raise half way.
func (g *gen) method() st {
	l := g.find(kP, true)
	if l == nil {
		return nothing
	}
	b, n := l.at, g.expr(kInt, 1)
	return st{l.name + ".boom(" + n.src + ");", func() {
		v := n.eval().(int)
		p := b.v.(*pvalue)
		p.xs = append(p.xs, v)
		if v%3 == 0 {
			panic(raised{})
		}
		p.n = v
	}}
}

// self assigns a variable from itself: what it holds may move.
func (g *gen) self() st {
	switch g.pick(3) {
	case 0:
		if l := g.find(kArr, true); l != nil {
			b, n := l.at, g.expr(kInt, 1)
			return st{fmt.Sprintf("%s = pushed(%s, %s);", l.name, l.name, n.src), func() {
				xs := clone(b.v).([]any)
				b.v = append(xs, n.eval())
			}}
		}
	case 1:
		if l := g.find(kP, true); l != nil {
			b := l.at
			return st{fmt.Sprintf("%s = moved(%s);", l.name, l.name), func() { p := b.v.(*pvalue); p.n++; p.xs = append(p.xs, p.n) }}
		}
	}
	if l := g.find(kGrid, true); l != nil {
		b := l.at
		return st{fmt.Sprintf("%s = grown(%s);", l.name, l.name), func() {
			if xs := b.v.([]any); len(xs) > 0 {
				b.v = append(xs, clone(xs[0]))
			}
		}}
	}
	return nothing
}

// loop goes over a snapshot while its body changes what it was taken from.
func (g *gen) loop() st {
	k := []kind{kArr, kGrid}[g.pick(2)]
	x := g.expr(k, 1)
	l := &local{name: g.name(), kind: kInt, at: &box{}}
	if k == kGrid {
		l.kind = kArr
	}
	mark := len(g.vars)
	g.vars = append(g.vars, l)
	body := g.block(1+g.pick(3), false)
	g.vars = g.vars[:mark]
	b := l.at
	count := g.name()
	return g.caught(st{fmt.Sprintf("let mut %s = 0;\nfor %s in %s {\n%s += 1; if %s > 3 { break; }\n%s}", count, l.name, x.src, count, count, body.src), func() {
		for i, v := range clone(x.eval()).([]any) {
			if i >= 3 {
				break
			}
			b.v = v
			body.exec()
		}
	}})
}

// closure makes a closure that changes a captured variable.
func (g *gen) closure() st {
	if l := g.find(kP, true); l != nil && g.pick(3) == 0 {
		b, name := l.at, g.name()
		g.fns = append(g.fns, closureVar{name, func(n int) { p := b.v.(*pvalue); p.xs = append(p.xs, n); p.n += n }})
		return st{fmt.Sprintf("let %s = |n: Int| { %s.xs.push(n); %s.n += n; };", name, l.name, l.name), func() {}}
	}
	l := g.find(kArr, true)
	if l == nil {
		return g.let()
	}
	b, name := l.at, g.name()
	if other := g.find(kArr, false); other != nil && !other.mut {
		o := other.at
		g.fns = append(g.fns, closureVar{name, func(n int) { b.v = append(append(b.v.([]any), n), clone(o.v).([]any)...) }})
		return st{fmt.Sprintf("let %s = |n: Int| { %s.push(n); %s = %s + %s; };", name, l.name, l.name, l.name, other.name), func() {}}
	}
	g.fns = append(g.fns, closureVar{name, func(n int) { b.v = append(b.v.([]any), n) }})
	return st{fmt.Sprintf("let %s = |n: Int| { %s.push(n); };", name, l.name), func() {}}
}

func (g *gen) callClosure() st {
	if len(g.fns) == 0 {
		return g.let()
	}
	c := g.fns[g.pick(len(g.fns))]
	n := g.expr(kInt, 1)
	return g.caught(st{c.name + "(" + n.src + ");", func() { c.call(n.eval().(int)) }})
}
