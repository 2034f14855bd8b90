package program

import "fmt"

// statements writes up to n statements.
func (g *gen) statements(n int) {
	for range n {
		g.statement()
	}
}

// writeGuarded writes statements in a try, so that main continues after a fault.
func (g *gen) writeGuarded() {
	if g.choose(3) == 0 {
		g.declareSafely()
		return
	}
	g.open("try {")
	g.home.tries++
	g.statements(1 + g.choose(4))
	g.home.tries--
	g.leave()
	g.write("} catch Error(e) { show(\"error\", e.message); }")
	if g.choose(3) == 0 {
		g.printState()
	}
}

// declare declares a variable with an expression that cannot fail.
func (g *gen) declare() {
	v := &variable{name: g.freshName("v"), kind: g.kind(), mutable: g.choose(4) > 0}
	g.let(v, g.constant(v.kind))
}

// declareSafely declares a variable with any expression, in a try.
func (g *gen) declareSafely() {
	v := &variable{name: g.freshName("v"), kind: g.kind(), mutable: g.choose(4) > 0}
	g.let(v, fmt.Sprintf("try { %s } catch { %s }", g.expr(v.kind, 3), g.constant(v.kind)))
}

func (g *gen) let(v *variable, value string) {
	mut := ""
	if v.mutable {
		mut = "mut "
	}
	g.write("let %s%s: %s = %s;", mut, v.name, v.kind, value)
	g.bind(v)
	g.writeCapture(v)
}

func (g *gen) statement() {
	if g.left--; g.left < 0 {
		g.print()
		return
	}
	before := g.out.Len()
	g.writers[g.choose(len(g.writers))](g)
	if g.out.Len() == before { // no such declaration is possible here
		g.newVariable()
	}
}

func (g *gen) print() {
	if vs := g.visible(func(v *variable) bool { return v.kind != nil }); len(vs) > 0 {
		v := pick(g, vs)
		g.write("show(%q, %s);", v.name, g.read(v))
	}
}

func (g *gen) newVariable() {
	v := &variable{name: g.freshName("v"), kind: g.kind(), mutable: g.choose(3) > 0}
	g.let(v, g.value(v.kind, 3))
}

// declareLate declares a variable that each branch initialises.
func (g *gen) declareLate() {
	v := &variable{name: g.freshName("v"), kind: g.kind(), mutable: g.choose(2) == 0}
	mut := ""
	if v.mutable {
		mut = "mut "
	}
	g.write("let %s%s: %s;", mut, v.name, v.kind)
	g.write("if (%s) { %s = %s; } else { %s = %s; }", g.expr(kBool, 2), v.name, g.value(v.kind, 2), v.name, g.value(v.kind, 2))
	g.bind(v)
	g.writeCapture(v)
}

// shadow redeclares a name, perhaps with another type.
func (g *gen) shadow() {
	vs := g.scopes[len(g.scopes)-1]
	if len(vs) == 0 {
		return
	}
	old := pick(g, vs)
	if old.kind == nil {
		return
	}
	k := g.kind()
	value := g.expr(k, 2)
	for i, v := range vs {
		if v == old {
			g.scopes[len(g.scopes)-1] = append(append([]*variable(nil), vs[:i]...), vs[i+1:]...)
		}
	}
	g.removeShadowed(old.name)
	g.let(&variable{name: old.name, kind: k, mutable: g.choose(3) > 0}, value)
}

// removeShadowed removes the outer variables whose name is redeclared.
func (g *gen) removeShadowed(name string) {
	for i, s := range g.scopes {
		var visible []*variable
		for _, v := range s {
			if v.name != name {
				visible = append(visible, v)
			}
		}
		g.scopes[i] = visible
	}
}

func anyKind(*kind) bool { return true }

func (g *gen) assign() {
	if p, k, ok := g.place(anyKind); ok {
		g.write("%s = %s;", p, g.cut(k, g.value(k, 3)))
	}
}

// alias binds the value of a place to another name, changes one of the two, and prints both.
func (g *gen) alias() {
	old, k, ok := g.place(func(k *kind) bool { return k.mutators != nil })
	if !ok {
		return
	}
	v := &variable{name: g.freshName("v"), kind: k, mutable: true}
	g.let(v, old)
	changed := v.name
	if g.choose(2) == 0 {
		changed = old
	}
	g.write("%s.%s;", changed, g.fill(k.mutators[g.choose(len(k.mutators))], 2))
	g.write("show(%q, (%s, %s));", v.name, v.name, old)
}

// store assigns a variable to a place, changes the variable, and prints both.
func (g *gen) store() {
	vs := g.visible(func(v *variable) bool { return v.mutable && v.kind != nil && v.kind.mutators != nil })
	if len(vs) == 0 {
		return
	}
	v := pick(g, vs)
	into, _, ok := g.place(func(k *kind) bool { return k == v.kind })
	if !ok {
		return
	}
	g.write("%s = %s;", into, g.cut(v.kind, g.read(v)))
	g.write("%s.%s;", v.name, g.fill(v.kind.mutators[g.choose(len(v.kind.mutators))], 2))
	g.write("show(%q, (%s, %s));", v.name, v.name, into)
}

// storeInItself stores a tree in itself.
func (g *gen) storeInItself() {
	vs := g.visible(func(v *variable) bool { return v.mutable && v.kind == kTree })
	if len(vs) == 0 {
		return
	}
	v := pick(g, vs)
	how := []string{"%s.k.push(%s)", "%s.k = [%s]", "%s.k[0] = %s", "%s.grow(%s)", "%s.k[0].k.push(%s)", "%s = T { k: [%s], v: 1 }"}[g.choose(6)]
	g.write("if %s.size() < 7 { "+how+"; }", v.name, v.name, g.read(v))
	g.write("show(%q, %s);", v.name, v.name)
}

// cut limits the size of an assigned value.
func (g *gen) cut(k *kind, value string) string {
	if k.cut == "" {
		return value
	}
	return k.cut + "(" + value + ")"
}

// update assigns to a place a value computed from its old value.
func (g *gen) update() {
	p, k, ok := g.place(func(k *kind) bool { return k.cut != "" })
	if !ok {
		return
	}
	switch {
	case k == kArr && g.choose(2) == 0:
		g.write("%s = cut(%s + %s);", p, p, g.expr(kArr, 2))
	case k == kGrid && g.choose(2) == 0:
		g.write("%s = cutg(%s + [%s]);", p, p, g.expr(kArr, 2))
	default:
		g.write("%s = %s(%s);", p, k.cut, p)
	}
}

func (g *gen) assignOp() {
	p, k, ok := g.place(func(k *kind) bool { return k == kInt || k == kString || k == kFloat })
	if !ok {
		return
	}
	if k == kString {
		g.write("%s = cuts(%s + %s);", p, p, g.expr(kString, 2))
		return
	}
	if k == kFloat {
		g.write("%s %s %s;", p, []string{"+=", "*=", "-="}[g.choose(3)], g.value(kFloat, 2))
		return
	}
	ops := []string{"+=", "-=", "+=", "%="}
	g.write("%s %s %s;", p, ops[g.choose(len(ops))], g.expr(kInt, 2))
}

// mutate calls a method that changes a place.
func (g *gen) mutate() {
	p, k, ok := g.place(func(k *kind) bool { return k.mutators != nil })
	if !ok {
		return
	}
	m := g.fill(k.mutators[g.choose(len(k.mutators))], 3)
	if g.choose(3) == 0 {
		g.write("show(\"call\", %s.%s);", p, m)
	} else {
		g.write("%s.%s;", p, m)
	}
}

func (g *gen) ifStatement() {
	g.open("if (%s) {", g.expr(kBool, 2))
	g.statements(1 + g.choose(3))
	if g.choose(2) == 0 {
		g.close("}")
		return
	}
	g.leave()
	g.open("} else {")
	g.statements(1 + g.choose(3))
	g.close("}")
}

func (g *gen) ifLet() {
	name := g.freshName("h")
	if g.choose(2) == 0 {
		g.open("if let Some(%s) = (%s) {", name, g.expr(kOptArr, 2))
		g.bind(&variable{name: name, kind: kArr})
	} else {
		g.open("if let E::Both { p: %s, .. } = (%s) {", name, g.expr(kE, 2))
		g.bind(&variable{name: name, kind: kP})
	}
	g.statements(1 + g.choose(3))
	g.close("}")
}

func (g *gen) letElse() {
	name := g.freshName("h")
	back := "throw \"else\""
	switch {
	case len(g.home.loops) > 0:
		back = "continue"
	case !g.home.mayThrow():
		return
	}
	g.write("let Some(%s) = %s else { %s; };", name, g.expr(kOptArr, 2), back)
	g.bind(&variable{name: name, kind: kArr})
}

func (g *gen) destructure() {
	a, b := g.freshName("d"), g.freshName("d")
	switch g.choose(3) {
	case 0:
		g.write("let (%s, %s) = %s;", a, b, g.expr(kTup, 2))
		g.bind(&variable{name: a, kind: kInt})
		g.bind(&variable{name: b, kind: kArr})
	case 1:
		g.write("let P { xs: %s, m: %s, .. } = %s;", a, b, g.expr(kP, 2))
		g.bind(&variable{name: a, kind: kArr})
		g.bind(&variable{name: b, kind: kMap})
	default:
		g.write("let mut (%s, %s) = %s;", a, b, g.expr(kTup, 2))
		g.bind(&variable{name: a, kind: kInt, mutable: true})
		g.bind(&variable{name: b, kind: kArr, mutable: true})
	}
}

func (g *gen) loop(head string, vars ...*variable) {
	if len(g.home.loops) >= 3 {
		g.print()
		return
	}
	label := ""
	if g.choose(3) == 0 {
		label = "'" + g.freshName("l")
		head = label + ": " + head
	}
	g.open("%s {", head)
	for _, v := range vars {
		g.bind(v)
	}
	g.rounds(loop{label: label})
	g.close("}")
}

// rounds writes the body of a loop.
func (g *gen) rounds(l loop) {
	g.home.loops = append(g.home.loops, l)
	g.statements(1 + g.choose(4))
	g.home.loops = g.home.loops[:len(g.home.loops)-1]
}

func (g *gen) forStatement() {
	name := g.freshName("i")
	g.loop(fmt.Sprintf("for %s in 0..%d", name, g.choose(4)), &variable{name: name, kind: kInt})
}

// forEach writes a loop over a value that the body may change.
func (g *gen) forEach() {
	name := g.freshName("i")
	switch g.choose(3) {
	case 0:
		g.loop(fmt.Sprintf("for %s in (cut(%s))", name, g.expr(kArr, 2)), &variable{name: name, kind: kInt})
	case 1:
		g.loop(fmt.Sprintf("for %s in (%s)", name, g.expr(kGrid, 1)), &variable{name: name, kind: kArr})
	default:
		value := g.freshName("i")
		g.loop(fmt.Sprintf("for (%s, %s) in (%s)", name, value, g.expr(kDeep, 1)), &variable{name: name, kind: kString}, &variable{name: value, kind: kArr})
	}
}

func (g *gen) whileStatement() {
	if len(g.home.loops) >= 3 {
		return
	}
	n := g.freshName("w")
	g.write("let mut %s = 0;", n)
	head := fmt.Sprintf("while %s < %d", n, 1+g.choose(3))
	if g.choose(3) == 0 {
		head = fmt.Sprintf("while (%s < 3) && (%s)", n, g.expr(kBool, 1))
	}
	g.open("%s {", head)
	g.write("%s += 1;", n)
	g.rounds(loop{})
	g.close("}")
}

// loopValue declares a variable with the value of a loop, which always ends by one of its breaks.
func (g *gen) loopValue() {
	if len(g.home.loops) >= 3 {
		return
	}
	n, v := g.freshName("w"), &variable{name: g.freshName("v"), kind: g.kind(), mutable: g.choose(3) > 0}
	mut, label, head := "", "", "loop {"
	if v.mutable {
		mut = "mut "
	}
	if g.choose(3) == 0 {
		label = "'" + g.freshName("l")
		head = label + ": " + head
	}
	g.write("let mut %s = 0;", n)
	g.open("let %s%s: %s = %s", mut, v.name, v.kind, head)
	g.write("%s += 1;", n)
	g.write("if %s > %d { break %s; }", n, 1+g.choose(3), g.value(v.kind, 2))
	g.rounds(loop{label, v.kind})
	g.close("};")
	g.bind(v)
	g.writeCapture(v)
}

// jump writes a conditional jump out of a loop, a closure, a function or a try.
func (g *gen) jump() {
	c := g.expr(kBool, 1)
	if n := len(g.home.loops); n > 0 && g.choose(2) == 0 {
		word, l := []string{"break", "continue"}[g.choose(2)], g.home.loops[g.choose(n)]
		out := word == "break"
		if l.label != "" {
			word += " " + l.label
		} else {
			l = g.home.loops[n-1]
		}
		if out && l.value != nil {
			word += " " + g.value(l.value, 2)
		}
		g.write("if (%s) { %s; }", c, word)
		return
	}
	if g.home.result != nil && g.choose(2) == 0 {
		g.write("if (%s) { return %s; }", c, g.value(g.home.result, 2))
		return
	}
	if g.home.mayThrow() {
		g.write("if (%s) { throw %s; }", c, g.expr([]*kind{kString, kArr, kE}[g.choose(3)], 1))
	}
}

func (g *gen) tryStatement() {
	g.open("try {")
	g.statements(1 + g.choose(3))
	g.leave()
	switch g.choose(4) {
	case 0:
		g.write("} catch String(s) { show(\"caught\", s); } catch Array<Int>(x) { show(\"array\", x); } catch { show(\"other\", 0); }")
	case 1:
		g.open("} catch E(x) {")
		g.bind(&variable{name: "x", kind: kE})
		g.statements(1)
		g.leave()
		g.write("} catch Error(e) { show(\"error\", e.message); }")
	default:
		g.open("} catch Error(e) {")
		g.write("show(\"error\", e.message);")
		g.statements(1)
		g.close("}")
	}
}

// writeQuestion uses `?` in a closure that returns an Option or Result.
func (g *gen) writeQuestion() {
	if g.choose(2) == 0 {
		g.write("show(\"question\", (|| -> Option<Int> { let u = (%s)?; let w = (%s)?; Some(u %% 9 + w.len()) })());", g.expr(kOpt, 2), g.expr(kOptArr, 2))
		return
	}
	g.write("show(\"question\", (|| -> Result<Int, String> { let u = (%s)?; let w = half(u)?; Ok(w + (%s)?) })());", g.expr(kRes, 2), g.expr(kRes, 1))
}

func (g *gen) matchStatement() {
	n := g.freshName("h")
	switch g.choose(3) {
	case 0:
		g.open("match (%s) {", g.expr(kE, 2))
		g.arm("E::Leaf")
		g.arm("E::Num("+n+")", &variable{name: n, kind: kInt})
		g.arm("E::List("+n+")", &variable{name: n, kind: kArr})
		g.arm("E::Both { p: "+n+", xs: _ }", &variable{name: n, kind: kP})
	case 1:
		g.open("match (%s) {", g.expr(kArr, 2))
		g.arm("[]")
		g.arm("["+n+"]", &variable{name: n, kind: kInt})
		g.arm("[_, .."+n+"]", &variable{name: n, kind: kArr})
	default:
		g.open("match (%s) {", g.expr(kTup, 2))
		g.arm("("+n+", []) if "+n+" > 3", &variable{name: n, kind: kInt})
		g.arm("(0 | 1, "+n+" @ [_, ..])", &variable{name: n, kind: kArr})
		g.arm(n, &variable{name: n, kind: kTup})
	}
	g.close("}")
}

func (g *gen) arm(pattern string, vars ...*variable) {
	g.open("%s => {", pattern)
	for _, v := range vars {
		g.bind(v)
	}
	g.statements(1 + g.choose(2))
	g.close("}")
}

// closure declares a closure that changes its captured variables.
func (g *gen) closure() {
	if g.home.closure && g.choose(2) == 0 {
		g.print()
		return
	}
	v := &variable{name: g.freshName("c"), result: g.kind()}
	param := ""
	if g.choose(2) == 0 {
		v.param = g.kind()
	}
	before := g.home
	p := g.freshName("p")
	if v.param != nil {
		param = p + ": " + v.param.String()
	}
	g.open("let %s = |%s| -> %s {", v.name, param, v.result)
	if v.param != nil {
		g.bind(&variable{name: p, kind: v.param})
	}
	g.home = home{result: v.result, closure: true}
	g.statements(1 + g.choose(3))
	g.write("%s", g.expr(v.result, 2))
	g.home = before
	g.close("};")
	g.bind(v)
}

func (g *gen) closureCallStatement() {
	vs := g.visible(func(v *variable) bool { return v.kind == nil })
	if len(vs) == 0 {
		g.closure()
		return
	}
	if s, ok := g.closureCall(pick(g, vs).result, 3); ok {
		g.write("show(\"called\", %s);", s)
	}
}
