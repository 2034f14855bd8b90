package program

// kind is a type of the generated programs.
type kind struct {
	name string
	// parts lists the paths into a value of this type.
	parts []part
	// mutators lists calls that change a value. %n, %a, … represent expressions of a kind, as in
	// the templates below.
	mutators []string
	// constants lists expressions of this type without parts that cannot fail.
	constants []string
	// values lists all other expressions.
	values []string
	// also is an expression of another type that is assignable to this type.
	also string
	// cut is the function that limits the size of an assigned value.
	cut string
}

func (k *kind) String() string { return k.name }

// part is a path into a value: its suffix, with %n for an index, and the kind of the value there.
type part struct {
	path string
	kind *kind
}

// The letters of templates: %n Int, %b Bool, %s String, %a Array<Int>,
// %g Array<Array<Int>>, %m Map<String, Int>, %M Map<String, Array<Int>>,
// %t (Int, Array<Int>), %p P, %q Q, %e E, %o Option<Int>, %O Option<Array<Int>>,
// %r Result<Int, String>, %x Box<Array<Int>>, %y Any, %f Float,
// %F Array<Float>, %T T; %k a small index, %w a
// key, %i a counting Int literal, %v a variable name that the value is used
// under (a closure's parameter).
var (
	kInt    = &kind{name: "Int"}
	kBool   = &kind{name: "Bool"}
	kString = &kind{name: "String"}
	kArr    = &kind{name: "Array<Int>"}
	kGrid   = &kind{name: "Array<Array<Int>>"}
	kMap    = &kind{name: "Map<String, Int>"}
	kDeep   = &kind{name: "Map<String, Array<Int>>"}
	kTup    = &kind{name: "(Int, Array<Int>)"}
	kP      = &kind{name: "P"}
	kQ      = &kind{name: "Q"}
	kE      = &kind{name: "E"}
	kOpt    = &kind{name: "Option<Int>"}
	kOptArr = &kind{name: "Option<Array<Int>>"}
	kRes    = &kind{name: "Result<Int, String>"}
	kBox    = &kind{name: "Box<Array<Int>>"}
	kAny    = &kind{name: "Any"}
	kFloat  = &kind{name: "Float"}
	kFloats = &kind{name: "Array<Float>"}
	kTree   = &kind{name: "T"}
)

// Values generates programs about values of every container.
var Values = &Subject{
	prelude: valuesPrelude,
	kinds:   []*kind{kInt, kArr, kGrid, kP, kMap, kTup, kString, kDeep, kE, kOptArr, kOpt, kQ, kBox, kRes, kBool, kAny, kFloat, kFloats, kTree, kTree},
	letters: map[byte]*kind{
		'n': kInt, 'b': kBool, 's': kString, 'a': kArr, 'g': kGrid, 'm': kMap, 'M': kDeep, 't': kTup,
		'p': kP, 'q': kQ, 'e': kE, 'o': kOpt, 'O': kOptArr, 'r': kRes, 'x': kBox, 'y': kAny, 'f': kFloat, 'F': kFloats, 'T': kTree,
	},
	budget: 120,
}

func init() {
	Values.program = (*gen).values
	Values.writers = []func(*gen){
		(*gen).print, (*gen).mutate, (*gen).assign, (*gen).mutate, (*gen).newVariable, (*gen).assignOp, (*gen).ifStatement, (*gen).forStatement,
		(*gen).alias, (*gen).store, (*gen).storeInItself, (*gen).alias, (*gen).store, (*gen).mutate, (*gen).assign, (*gen).mutate, (*gen).update, (*gen).closureCallStatement, (*gen).assign, (*gen).update,
		(*gen).tryStatement, (*gen).closure, (*gen).matchStatement, (*gen).whileStatement, (*gen).jump, (*gen).ifLet, (*gen).mutate,
		(*gen).closureCallStatement, (*gen).letElse, (*gen).destructure, (*gen).forEach, (*gen).shadow, (*gen).writeQuestion, (*gen).declareLate, (*gen).loopValue,
	}
	kInt.constants = []string{"%i"}
	kBool.constants = []string{"true", "false"}
	kString.constants = []string{`"ab"`, `"k%i"`, `""`}
	kArr.constants = []string{"[1, 2, 3]", "[%i, 0]", "[4, %i, 2, %i, 1]", "ints()"}
	kGrid.constants = []string{"[[1], [2, %i]]", "[[], [3, %i, 5], [6]]", "grid()", "[[%i, 2, 3], [4, 5], [7]]"}
	kMap.constants = []string{`{ "a": 1, "b": %i }`, `{ "z": %i }`, "counts()"}
	kDeep.constants = []string{`{ "a": [1, %i], "b": [] }`, `{ "b": [%i], "a": [2, 3], "z": [4] }`, "lists()"}
	kTup.constants = []string{"(1, [2, %i])", "(%i, [0])", "(0, ints())"}
	kQ.constants = []string{`Q { s: "q", t: (0, [1, %i]) }`, `Q { s: "", t: (%i, []) }`}
	kP.constants = []string{
		`P { n: 2, xs: [1, %i], m: { "a": %i }, q: [Q { s: "x", t: (1, [2, %i]) }], o: [%i], f: 1.5, fs: [%i, 0.5] }`, "newp([%i, 3, 2])", "newp(ints())",
		`P { n: %i, xs: [5, 6, 7], m: { "b": 1, "a": 2 }, q: [Q { s: "x", t: (1, []) }, Q { s: "y", t: (%i, [4, 4]) }], o: nil, f: %i, fs: [] }`,
	}
	kE.constants = []string{"E::List([1, %i])", "E::Both { p: newp([%i, 1]), xs: [2, %i, 3] }", "E::Num(%i)", "E::Leaf"}
	kOpt.constants = []string{"some(%i)", "Some(%i)"}
	kOptArr.constants = []string{"Some([1, %i])", "none()"}
	kRes.constants = []string{"half(%i)", "fine(%i)", `bad("b")`}
	kBox.constants = []string{"Box { held: [1, %i], old: [[%i], [2, 3]] }", "Box { held: ints(), old: grid() }"}
	kAny.constants = []string{"any([1, %i, 3])", "any([])"}
	kTree.constants = []string{"T { k: [], v: %i }", "T { k: [T { k: [], v: %i }], v: %i }", "T { k: [T { k: [], v: 1 }, T { k: [], v: %i }], v: 2 }"}
	kTree.values = []string{"same(%T)", "(if (%b) { %T } else { %T })", "T { v: %n, ..%T }", "cutt(%T)", "cutt(T { k: [%T, %T], v: %n })", "(%T.k.first() ?? %T)", "%T.k[%k]"}
	kTree.parts = []part{{".k[%k]", kTree}, {".v", kInt}, {".k[%k].v", kInt}}
	kTree.mutators = []string{"grow(%T)", "k.pop()", "grow(%T)", "k.clear()", "k.swap(0, %k)"}
	kTree.cut = "cutt"
	kFloat.constants = []string{"%i.5", "0.25"}
	kFloats.constants = []string{"[1.5, %i, 2.0]", "[0.5]", "floats()"}
	kFloat.values = []string{
		"(%n as Float)", "(%f + %f)", "(%f * %n)", "(%n / 2.0)", "(%f - %i)", "-%f", "%F[%k]", "%p.f", "%F.sum()", "(%F.first() ?? %f)", "(if (%b) { %n } else { %f })",
		"(match (%F) { [] => %n, [v, ..] => v })", "%F.fold(0.0, |acc, e| acc / 2 + e)", "(try { %F[%k] } catch { %n })", "%f.abs().min(1000)", "(%o ?? %f)",
	}
	kFloat.also = "%n"
	kFloats.values = []string{
		"[%f, %n]", "%F.map(|e| e * 0.5)", "%F.reverse()", "%a.map(|e| e + 0.5)", "%F[%k..]", "(if (%b) { %F } else { %F })", "same(%F)", "[%n, %f, %n]", "%F.filter(|e| e > %f)",
	}
	kFloats.parts = []part{{"[%k]", kFloat}}
	kFloats.mutators = []string{"push(%f)", "push(%n)", "pop()", "swap(0, %k)", "remove(%k)", "insert(0, %n)"}
	kOpt.also = "%n"
	kOptArr.also = "%a"
	kAny.also = "%a"
	kInt.values = []string{
		"(%y[%k] as Int)", "(%f as Int)", "%F.len()", "%T.v", "%T.size()", "%T.k.len()",
		"(%n + %n)", "(%n - %n)", "(%n * %i)", "(%n % 7)", "(%n / %i)", "(0 - %n)", "%a.len()", "%a[%k]", "%g.len()", "%g[%k][%k]",
		"%m.len()", "%m[%w]", "(%m.get(%w) ?? %n)", "%t.0", "%p.n", "%e.size()", "(%o ?? %n)", "%o.unwrap()", "%r.unwrap_or(%n)",
		"%s.len()", "%p.m.get_or(%w, %n)", "%a.sum()", "%p.q[%k].t.0", "%M[%w].len()", "%x.old.len()", "half(%n).unwrap()",
		"%a.fold(%n, |acc, e| (acc + e) % 1000)", "%a.filter(|e| e > %n).len()", "(if (%b) { %n } else { %n })",
		"(match (%o) { Some(v) => v, None => %n })", "(match (%r) { Ok(v) => v, Err(m) => m.len() })",
		"(match (%e) { E::Leaf => %n, E::Num(v) => v % 50, E::List(vs) => vs.len(), E::Both { p, xs } => p.n + xs.len() })",
		"(match (%a) { [] => 0, [v] => v, [v, .., w] => v % 9 - w % 9 })", "(match (%n) { 0 => 1, 1..9 => 2, v if v > 100 => v % 10, _ => 3 })",
		"(match (%n % 3, %n % 2) { (0, 0) => 1, (0, v) | (v, 1) => v, (v, _) if v > 1 => %n, _ => 4 })",
		"(match (%a, %e) { ([], E::Leaf) => 0, ([v, ..], E::Num(0)) => v % 9, (vs, E::Num(k)) => vs.len() + k % 7, (vs, E::List(us)) if us.len() > 1 => vs.len(), (_, E::Both { p, .. }) => p.n, (vs, _) => vs.len() + 1 })",
		"(match (%e) { E::List([]) => 1, E::List([1, ..]) => 2, E::Num(1) => 3, E::Both { p: P { n: 0, .. }, .. } => 4, E::List([v, ..]) if v > 1 => v % 7, E::Both { xs: [], .. } => 5, E::Num(0) => 6, E::List(_) => 7, _ => 8 })",
		"(match (%s) { \"a\" => 1, \"ab\" => 2, \"\" => %n, \"k1\" | \"k2\" => 3, \"AB\" if (%b) => 4, \"abab\" => 5, _ => 6 })",
		"(match (%r, %o) { (Ok(0), _) => 1, (Ok(v), Some(1)) => v, (Err(m), None) => m.len(), (Ok(_), None) => 2, (Err(\"b\"), Some(v)) => v % 9, _ => 3 })",
		"({ let mut t = 0; for (i, u) in (%a).enumerate() { t = (t + i * u) % 1000; } t })",
		"({ let mut us = %a; let vs = %a; let mut t = 0; for (u, v) in us.zip(vs) { t = (t + u * v) % 100; us.push(t); us[0] = t; } t + us.len() })",
		"({ let mut ms = %M; let mut t = 0; for (k, vs) in ms { ms[k].push(1); ms.delete(\"a\"); t += vs.len(); } t })",
		"({ let mut gs = %g; let mut t = 0; for (i, us) in gs.enumerate() { gs[i].push(7); let mut ws = us; ws.push(i); t += ws.len(); } t })",
		"({ let mut t = 0; for (i, (k, v)) in (%m).entries().enumerate() { t = (t + i + k.len() * v) % 1000; } t })",
		"({ let mut us = %a; let (ws, n) = (us, { us.push(%n); us.len() }); us.push(1); ws.len() * 10 + n })",
		"({ let (u, us) = %t; u % 99 + us.len() })", "(try { %a[%k] } catch { %n })", "(try { %p.q[%k].t.1[%k] }.unwrap_or(%n))",
		"%g.map(|r| r.len()).sum()", "(%y as Array<Int>).len()", "(%s |> len)",
		"%n.bit_and(%n)", "%n.bit_or(%i)", "%n.bit_xor(%n).bit_and(255)", "%n.shr(%i).bit_xor(%n)", "(%n.shl(%i) % 1000)", "%n.shr(%n.bit_and(70))",
	}
	kBool.values = []string{
		"(%n < %n)", "(%n == %n)", "!%b", "(%b && %b)", "(%b || %b)", "(%a == %a)", "(%p == %p)", "%a.contains(%n)",
		"%o.is_some()", "(%o == %n)", "(%g != %g)", "%m.has(%w)", "(%e == %e)", "(%s < %s)", "(%f < %f)", "(%f == %n)", "(%n >= %f)", "(%F == %F)", "%r.is_ok()", "(%O == nil)", "%a.any(|e| e > %n)", "(%t == %t)",
	}
	kString.values = []string{
		"%s.to_upper()", "cuts(%s + %s)", `cuts("${%n}-${%s}")`, `cuts("${%a}")`, "%q.s", `cuts("${%o}")`, "cuts(%r.err() ?? %s)",
		`cuts("${%p.m}")`, "%s[%k..]", "(if (%b) { %s } else { %s })", `(match (%s) { "ab" => "one", "" => "two", "one" => "ab", "k1" => %s, _ => "three" })`, `(%a.map(|e| "${e}").join(",") |> cuts())`, "(%m.keys().join(\"/\") |> cuts())",
	}
	kString.cut = "cuts"
	kArr.values = []string{
		"[%n]", "[%n, %n, %n]", "cut(%a + %a)", "%g[%k]", "%t.1", "%p.xs", "%p.get()", "%M[%w]", "(%O ?? %a)", "%a.map(|e| e % 10 + %n)",
		"%a.filter(|e| e > %n)", "%a.reverse()", "%a.sort()", "%a[%k..]", "%a[..%k]", "%x.held", "%q.t.1", "cut(%g.flatten())", "(if (%b) { %a } else { %a })",
		"(match (%e) { E::List(vs) => vs, E::Both { xs, .. } => xs, _ => %a })", "({ let us = %a; us })", "({ let mut us = %a; us.push(%n); us })",
		"(match (%a) { [u, ..us] => us, us => us })", "(try { %g[%k] } catch { %a })", "cut(%g.flat_map(|r| r))", "%a.unique()", "same(%a)", "%p.q.map(|z| z.t.0)",
		"(match (%a, %a) { ([u, ..us], vs) => ({ let mut ws = us; ws.push(u); ws }), (us, vs) => ({ let mut ws = us; ws.push(%n); let mut zs = vs; zs.push(1); cut(ws + us + zs + vs) }) })",
		"({ let us = %a; let f = || us; f() })", "(%y as Array<Int>)", "%m.values()", "(match (%O) { Some(us) => us, None => %a })",
	}
	kArr.parts = []part{{"[%k]", kInt}}
	kArr.mutators = []string{"push(%n)", "push(%n)", "pop()", "clear()", "insert(0, %n)", "remove(%k)", "extend(%a)", "swap(0, %k)", "truncate(%k)"}
	kArr.cut = "cut"
	kGrid.values = []string{
		"[%a]", "[%a, %a]", "%a.map(|e| [e, %n])", "%g.reverse()", "({ let us = %a; [us, us] })", "(if (%b) { %g } else { %g })", "%g.filter(|r| r.len() > 1)",
		"%g.map(|r| r.reverse())", "cutg(%g + %g)", "%g[%k..]", "%p.q.map(|z| z.t.1)", "%x.old", "%M.values()", "%a.chunks(2)", "same(%g)",
		"({ let mut gs = %g; gs.push(%a); cutg(gs) })",
	}
	kGrid.parts = []part{{"[%k]", kArr}}
	kGrid.mutators = []string{"push(%a)", "pop()", "clear()", "remove(%k)", "insert(0, %a)", "swap(0, %k)"}
	kGrid.cut = "cutg"
	kMap.values = []string{
		`{ "a": %n }`, `{ "b": %n, "a": %n }`, "%p.m", "%m.map_values(|v| v % 10)", "(if (%b) { %m } else { %m })", "same(%m)", "%m.filter(|k, v| v > %n)",
		`({ let mut mm = %m; mm["z"] = %n; mm })`,
	}
	kMap.parts = []part{{"[%w]", kInt}}
	kMap.mutators = []string{"set(%w, %n)", "delete(%w)", "clear()", "merge(%m)", "remove(%w)"}
	kDeep.values = []string{`{ "a": %a }`, `{ "b": %a, "a": %a }`, "(if (%b) { %M } else { %M })", "same(%M)", "%M.map_values(|v| v.reverse())"}
	kDeep.parts = []part{{"[%w]", kArr}}
	kDeep.mutators = []string{"set(%w, %a)", "delete(%w)", "clear()", "merge(%M)"}
	kTup.values = []string{"(%n, %a)", "%q.t", "(if (%b) { %t } else { %t })", "({ let (u, us) = %t; (us.len(), us) })", "same(%t)", "({ let us = %a; (us.len(), us) })"}
	kTup.parts = []part{{".0", kInt}, {".1", kArr}}
	kQ.values = []string{"Q { s: %s, t: %t }", "%p.q[%k]", "Q { s: %s, ..%q }", "same(%q)", "(%p.q.first() ?? %q)"}
	kQ.parts = []part{{".s", kString}, {".t", kTup}, {".t.1", kArr}, {".t.0", kInt}}
	kQ.mutators = []string{"put(%n)", "put(%n)"}
	kP.values = []string{
		"P { n: %n, xs: %a, m: %m, q: [%q], o: %O, f: %f, fs: %F }", "%p.grown(%n)", "P { n: %n, ..%p }", "P { f: %n, o: %a, ..%p }", "P { xs: %a, ..%p }", "(if (%b) { %p } else { %p })", "same(%p)", "newp(%a)",
		"({ let mut pp = %p; pp.add(%n); pp })", "(match (%e) { E::Both { p, .. } => p, _ => %p })", "cutp(%p)",
	}
	kP.parts = []part{{".n", kInt}, {".xs", kArr}, {".m", kMap}, {".xs[%k]", kInt}, {".q[%k]", kQ}, {".q[%k].t.1", kArr}, {".o", kOptArr}, {".q[%k].s", kString}, {".m[%w]", kInt}, {".f", kFloat}, {".fs", kFloats}}
	kP.mutators = []string{"add(%n)", "boom(%n)", "swap(%a)", "add(%n)", "q.push(%q)", "q.pop()", "m.delete(%w)"}
	kP.cut = "cutp"
	kE.values = []string{"E::Num(%n)", "E::List(%a)", "E::Both { p: %p, xs: %a }", "(if (%b) { %e } else { %e })", "same(%e)"}
	kE.mutators = []string{"turn()", "turn()"}
	kOpt.values = []string{"Some(%n)", "some(%n)", "%a.first()", "%a.get(%k)", "%m.get(%w)", "%p.first()", "%o.map(|v| v % 10)", "half(%n).ok()", "(if (%b) { %o } else { nil })", "%a.find(|e| e > %n)", "%a.index_of(%n)"}
	kOptArr.values = []string{"Some(%a)", "%p.o", "%g.first()", "%g.last()", "%M.get(%w)", "(if (%b) { %a } else { nil })", "%O.map(|us| us.reverse())", "%g.get(%k)"}
	kRes.values = []string{"fine(%n)", "bad(%s)", "half(%n)", `%o.ok_or("none")`, "%r.map(|v| v % 10)", "half(%n).and_then(|v| half(v))"}
	kBox.values = []string{"Box { held: %a, old: %g }", "same(%x)", "(if (%b) { %x } else { %x })"}
	kBox.parts = []part{{".held", kArr}, {".old", kGrid}, {".held[%k]", kInt}}
	kBox.mutators = []string{"put(%a)", "take()", "put(%a)"}
	kAny.values = []string{"any(%a)", "%a", "%p.xs", "same<Any>(%a)", "(if (%b) { %a } else { %a })"}
	kAny.parts = []part{{"[%k]", kInt}}
}

func (g *gen) kind() *kind { return g.kinds[g.choose(len(g.kinds))] }
