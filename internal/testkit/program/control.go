package program

import "fmt"

// mayRaise reports whether an error may leave the current expression. The error goes to an
// enclosing try, or it leaves the function. A function that returns an Option cannot return an
// error.
func (g *gen) mayRaise() bool {
	h := &g.home
	return h.tries > 0 || h.result != nil && h.result != wOption
}

// error returns an expression that may be thrown here. In a function that returns a Result, its
// type is the error type of that Result.
func (g *gen) error() string {
	if g.home.result == wResult {
		return g.expr(wString, 1)
	}
	return g.expr([]*kind{wString, wEnum, wInt}[g.choose(3)], 1)
}

// jumpExpr returns an expression that jumps (break, continue, return, throw), or "" if no jump is
// possible.
func (g *gen) jumpExpr() string {
	var ways []string
	if n := len(g.home.loops); n > 0 {
		ways = append(ways, "continue", g.breakStatement("", g.home.loops[n-1]), "continue")
		for _, l := range g.home.loops {
			if l.label != "" {
				ways = append(ways, g.breakStatement(" "+l.label, l), "continue "+l.label)
			}
		}
	}
	if g.home.result != nil {
		ways = append(ways, "return", "return")
	}
	if g.mayRaise() {
		ways = append(ways, "throw")
	}
	if len(ways) == 0 {
		return ""
	}
	switch way := ways[g.choose(len(ways))]; way {
	case "return":
		return "return " + g.flowValue(g.home.result, 1)
	case "throw":
		return "throw " + g.error()
	default:
		return way
	}
}

// breakStatement returns a break out of a loop, with a value if the loop has one.
func (g *gen) breakStatement(label string, l loop) string {
	if l.value == nil {
		return "break" + label
	}
	return "break" + label + " " + g.flowValue(l.value, 1)
}

// flowValue returns an expression of a kind. It may use `?` if mayRaise returns true.
func (g *gen) flowValue(k *kind, depth int) string {
	if k == wInt && g.mayRaise() && g.choose(3) == 0 {
		return "(" + g.expr(wResult, depth) + ")?"
	}
	return g.expr(k, depth)
}

// declareValue declares a variable whose value comes from a construct with branches.
func (g *gen) declareValue() {
	v := &variable{name: g.freshName("v"), kind: []*kind{wInt, wInt, wInt, wResult, wString}[g.choose(5)], mutable: g.choose(2) == 0}
	mut := ""
	if v.mutable {
		mut = "mut "
	}
	g.construct(fmt.Sprintf("let %s%s: %s = ", mut, v.name, v.kind), v.kind, ";", 2)
	g.bind(v)
	g.writeCapture(v)
}

// assignConstruct assigns a variable the value of a construct.
func (g *gen) assignConstruct() {
	if vs := g.visible(func(v *variable) bool { return v.mutable && v.kind == wInt }); len(vs) > 0 {
		g.construct(pick(g, vs).name+" = ", wInt, ";", 2)
	}
}

// changeVariable changes a variable by an expression.
func (g *gen) changeVariable() {
	vs := g.visible(func(v *variable) bool { return v.mutable && v.kind != nil && v.kind.cut != "" })
	if len(vs) == 0 {
		return
	}
	switch v := pick(g, vs); {
	case v.kind == wInt && g.choose(2) == 0:
		g.write("%s += %s;", v.name, g.flowValue(wInt, 1))
		g.write("%s = clip(%s);", v.name, v.name)
	default:
		g.write("%s = %s;", v.name, g.cut(v.kind, g.flowValue(v.kind, 2)))
	}
}

// construct writes an expression of a kind whose branches have statements, and may jump.
func (g *gen) construct(head string, k *kind, end string, depth int) {
	if g.left--; g.left < 0 || depth == 0 {
		g.write("%s%s%s", head, g.flowValue(k, 1), end)
		return
	}
	switch g.choose(6) {
	case 0, 1, 2:
		g.tryFor(head, k, end, depth)
	case 3:
		g.open("%sif %s {", head, g.expr(wBool, 1))
		g.branch(k, depth)
		g.leave()
		g.open("} else {")
		g.branch(k, depth)
		g.close("}" + end)
	case 4:
		g.matchFor(head, k, end, depth)
	default:
		g.open("%s{", head)
		g.branch(k, depth)
		g.close("}" + end)
	}
}

// branch writes statements and a value, or a jump.
func (g *gen) branch(k *kind, depth int) {
	if g.choose(3) == 0 {
		g.statements(1)
	}
	if g.choose(3) == 0 {
		if way := g.jumpExpr(); way != "" {
			g.write("%s;", way)
			return
		}
	}
	g.tail(k, depth)
}

// tail writes the value of a block.
func (g *gen) tail(k *kind, depth int) {
	if depth > 0 && g.choose(3) == 0 {
		g.construct("", k, "", depth-1)
		return
	}
	g.write("%s", g.flowValue(k, 1))
}

// tryFor writes a try with a value.
func (g *gen) tryFor(head string, k *kind, end string, depth int) {
	g.open("%stry {", head)
	g.home.tries++
	if g.choose(3) == 0 {
		g.statements(1)
	}
	g.tail(k, depth)
	g.home.tries--
	g.closeTry(end, func() { g.branch(k, depth) })
}

// closeTry closes a try with some catch clauses. If no error may leave the try, the last clause
// catches all.
func (g *gen) closeTry(end string, body func()) {
	for _, c := range [...]string{"String(m)", "E(x)", "Int(n)"} {
		if g.choose(3) > 0 {
			continue
		}
		g.leave()
		g.open("} catch %s {", c)
		switch c[0] {
		case 'S':
			g.bind(&variable{name: "m", kind: wString})
		case 'E':
			g.bind(&variable{name: "x", kind: wEnum})
		default:
			g.bind(&variable{name: "n", kind: wInt})
		}
		body()
	}
	g.leave()
	if g.choose(3) == 0 {
		g.open("} catch Error(e) {")
		g.write("show(\"error\", e.message);")
	} else {
		g.open("} catch {")
	}
	body()
	g.close("}" + end)
}

// arms lists the matches of subject Flow: the operand and the patterns.
var arms = []struct {
	of       *kind
	patterns []string
}{
	{wResult, []string{"Ok(v)", "Err(_)"}},
	{wResult, []string{"Ok(0)", "Ok(v) if v > 3", "Err(\"three\")", "_"}},
	{wOption, []string{"Some(v)", "None"}},
	{wInt, []string{"0", "1..3", "v if v > 20", "_"}},
	{wEnum, []string{"E::Leaf", "E::Num(v)", "E::Pair(v, _)", "E::Text(_)"}},
	{wEnum, []string{"E::Pair(0, v)", "E::Num(1)", "E::Num(v)", "_"}},
	{wString, []string{"\"a\"", "\"\"", "\"three\"", "_"}},
}

// matchFor writes a match with a value.
func (g *gen) matchFor(head string, k *kind, end string, depth int) {
	g.matching(head, end, func() { g.branch(k, depth) })
}

func (g *gen) matching(head, end string, body func()) {
	m := arms[g.choose(len(arms))]
	g.open("%smatch (%s) {", head, g.flowValue(m.of, 2))
	for _, p := range m.patterns {
		g.open("%s => {", p)
		for i := range p {
			if p[i] == 'v' && (i == 0 || p[i-1] == '(' || p[i-1] == ' ') {
				g.bind(&variable{name: "v", kind: wInt})
				break
			}
		}
		body()
		g.close("}")
	}
	g.close("}" + end)
}

// writeFew writes statements, sometimes with a jump at the end.
func (g *gen) writeFew(n int) {
	g.statements(1 + g.choose(n))
	if g.choose(4) == 0 {
		if way := g.jumpExpr(); way != "" {
			g.write("%s;", way)
		}
	}
}

func (g *gen) flowTry() {
	g.open("try {")
	g.home.tries++
	g.writeFew(3)
	g.home.tries--
	g.closeTry("", func() { g.writeFew(1) })
}

func (g *gen) flowMatch() { g.matching("", "", func() { g.writeFew(1) }) }

func (g *gen) flowIf() {
	g.open("if %s {", g.expr(wBool, 2))
	g.writeFew(2)
	if g.choose(2) == 0 {
		g.close("}")
		return
	}
	g.leave()
	g.open("} else {")
	g.writeFew(2)
	g.close("}")
}

// leaveIf writes a conditional jump.
func (g *gen) leaveIf() {
	if way := g.jumpExpr(); way != "" {
		g.write("if %s { %s; }", g.expr(wBool, 1), way)
	}
}

// bindOrJump binds the match of a pattern, or jumps.
func (g *gen) bindOrJump() {
	way := g.jumpExpr()
	if way == "" {
		return
	}
	name := g.freshName("h")
	pattern, k := "Some("+name+")", wOption
	if g.choose(2) == 0 {
		pattern, k = "Ok("+name+")", wResult
	}
	g.write("let %s = %s else { %s; };", pattern, g.expr(k, 2), way)
	g.bind(&variable{name: name, kind: wInt})
}

// flowLoop writes a loop of any kind. Every second body begins with a construct that has branches.
func (g *gen) flowLoop() {
	if len(g.home.loops) >= 3 {
		return
	}
	n, head, first, end := g.freshName("i"), "", "", "}"
	counts := fmt.Sprintf("%s += 1;", n)
	var result *variable
	l := loop{}
	if g.choose(3) == 0 {
		l.label = "'" + g.freshName("l")
	}
	switch g.choose(6) {
	case 0, 1:
		head = fmt.Sprintf("for %s in 0..%d", n, 1+g.choose(5))
	case 2:
		head = fmt.Sprintf("for %s in %s", n, g.expr(wInts, 1))
	case 3:
		g.write("let mut %s = 0;", n)
		head, first = fmt.Sprintf("while %s < %d", n, 1+g.choose(4)), counts
	case 4:
		g.write("let mut %s = 0;", n)
		head, first = "loop", fmt.Sprintf("%s if %s > %d { break; }", counts, n, 1+g.choose(4))
	default:
		g.write("let mut %s = 0;", n)
		l.value, result = wInt, &variable{name: g.freshName("v"), kind: wInt}
		head, first, end = "loop", fmt.Sprintf("%s if %s > %d { %s; }", counts, n, 1+g.choose(4), g.breakStatement("", l)), "};"
	}
	if l.label != "" {
		head = l.label + ": " + head
	}
	if result != nil {
		head = fmt.Sprintf("let %s: Int = %s", result.name, head)
	}
	g.open("%s {", head)
	g.bind(&variable{name: n, kind: wInt})
	if first != "" {
		g.write("%s", first)
	}
	g.home.loops = append(g.home.loops, l)
	if g.choose(2) == 0 {
		g.declareValue()
	}
	g.writeFew(3)
	g.home.loops = g.home.loops[:len(g.home.loops)-1]
	g.close(end)
	if result != nil {
		g.bind(result)
	}
}

// callEach passes the library's loop a closure with its own control flow.
func (g *gen) callEach() {
	g.inClosure(nil, func(x string) { g.open("%s.each(|%s| {", g.expr(wInts, 1), x) }, "});")
}

// flowClosure calls a closure that contains its returns and errors.
func (g *gen) flowClosure() {
	k := []*kind{wInt, wResult}[g.choose(2)]
	v := &variable{name: g.freshName("v"), kind: k}
	if !g.mayRaise() {
		k = wResult // the result type could not contain an error that the closure raises
		v.kind = k
	}
	if g.inClosure(k, func(x string) { g.open("let %s: %s = (|%s: Int| -> %s {", v.name, k, x, k) }, fmt.Sprintf("})(%s);", g.constant(wInt))) {
		g.bind(v)
	}
}

// inClosure writes the body of a closure. Errors that the body raises are caught around the
// closure. Within another closure it writes nothing and returns false.
func (g *gen) inClosure(result *kind, open func(param string), end string) bool {
	if g.home.closure {
		return false
	}
	x, before := g.freshName("x"), g.home
	inside := home{result: result, closure: true}
	if result == nil && g.mayRaise() {
		inside.tries = 1
	}
	open(x)
	g.bind(&variable{name: x, kind: wInt})
	g.home = inside
	g.writeFew(2)
	if result != nil {
		g.tail(result, 1)
	}
	g.home = before
	g.close(end)
	return true
}
