package sema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// checkCodes checks the program src together with other files. It returns the line and the code of
// each diagnostic.
func checkCodes(t *testing.T, m *sema.Manifest, src string, others map[string]string) string {
	t.Helper()
	file, list := parser.Parse(source.NewFile("main.conc", []byte(src)))
	cfg := sema.Config{Name: "t", Library: stdlib.Library(), Manifest: m, Open: func(name string) (*ast.File, diag.List, bool) {
		text, ok := others[name]
		if !ok {
			return nil, diag.List{}, false
		}
		f, l := parser.Parse(source.NewFile(name, []byte(text)))
		return f, l, true
	}}
	prog, found := sema.Check(cfg, file)
	list.Append(found)
	typed(t, prog)
	var out []string
	for _, d := range list.Sorted() {
		out = append(out, fmt.Sprintf("%d %s", d.File.Position(d.Span.Start).Line, d.Info.Code))
	}
	return strings.Join(out, ", ")
}

// typed checks that each expression, pattern and type expression in the program's files has a type.
func typed(t *testing.T, prog *sema.Program) {
	t.Helper()
	for _, info := range prog.Files {
		if info.Library {
			continue
		}
		ast.InspectFile(info.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case ast.Expr:
				if info.TypeOf(n) == nil {
					t.Fatalf("the expression %T at %s has no type", n, info.File.Source.Position(n.Span().Start))
				}
			case ast.Pattern:
				if info.PatternType(n) == nil {
					t.Fatalf("the pattern %T at %s has no type", n, info.File.Source.Position(n.Span().Start))
				}
			case ast.Type:
				if info.Written(n) == nil {
					t.Fatalf("the type expression %T at %s has no type", n, info.File.Source.Position(n.Span().Start))
				}
			}
			return true
		})
	}
}

// slip is a program with syntax errors, and its expected diagnostics as checkCodes returns them.
type slip struct{ name, src, want string }

func slips(t *testing.T, list []slip) {
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			if got := checkCodes(t, manifest, s.src, nil); got != s.want {
				t.Errorf("diagnostics of\n%s\nare %s\nwant %s", s.src, got, s.want)
			}
		})
	}
}

// TestBrokenCodeReportsAllErrors checks that errors after a syntax error are reported as well.
func TestBrokenCodeReportsAllErrors(t *testing.T) {
	slips(t, []slip{
		{"a missing semicolon", "fn main() {\n    let a = 1\n    let b: Int = \"x\";\n    emit(\"a\", a + b + nowhere);\n}\n",
			"2 E0102, 3 E0301, 4 E0201"},
		{"another function", "fn f() {\n    let a = ;\n}\nfn g() -> Int {\n    let unused = 2;\n    \"x\"\n}\n", "2 E0108, 6 E0301"},
		{"another body", "fn f(a: Int, {\n    emit(\"a\", a);\n}\nfn g() -> Int {\n    let unused = 2;\n    3\n}\n", "1 E0101, 5 W0220"},
	})
}

// TestNoFollowUpFromErrorType tests rule 1: an expression whose type is unknown because of an error
// causes no further errors.
func TestNoFollowUpFromErrorType(t *testing.T) {
	slips(t, []slip{
		{"a value", "fn main() {\n    let a = ;\n    let b: Int = a;\n    let c = a + \"x\" - 2;\n    for x in a { emit(\"x\", x.y.z(1)?); }\n    match a { 1 => emit(\"a\", b), \"x\" => emit(\"b\", c), }\n}\n", "2 E0108"},
		{"a member", "struct P { x: Int }\nfn main() {\n    let p = P { x: 1 };\n    let n: Int = p.;\n    if p. { emit(\"a\", n); }\n    emit(\"x\", p.);\n}\n", "4 E0101, 5 E0101, 6 E0101"},
		{"a type", "fn f(a: ) -> Int { a }\nfn g() -> { 1 }\nstruct S { x: }\nfn main() {\n    let b: = 1;\n    emit(\"a\", f(\"x\") + g() + S { x: true }.x + b);\n}\n",
			"1 E0109, 2 E0109, 3 E0109, 5 E0109"},
		{"a path", "enum E { A, B }\nfn main() {\n    let a: Int = E::;\n    emit(\"a\", a);\n}\n", "3 E0101"},
		{"a setting", "host H { connector: }\nconst C: Int = ;\nconst D\nfn main() { emit(\"a\", C + D); }\n", "1 E0108, 2 E0108, 3 E0101"},
		{"an index", "fn main() {\n    let xs = [1, 2];\n    let a: Int = xs[;\n    emit(\"a\", a);\n}\n", "3 E0108"},
	})
}

// TestNoFollowUpForNamesInBrokenRegions tests rule 2: text that could not be parsed may declare and
// use each name in it. A name from such text is not reported as unknown within its scope, or as
// unused.
func TestNoFollowUpForNamesInBrokenRegions(t *testing.T) {
	slips(t, []slip{
		{"declared in it", "fn main() {\n    let a b = 1;\n    emit(\"b\", b);\n}\n", "2 E0101"},
		{"beyond its scope", "fn main() {\n    if true {\n        let a b = 1;\n    }\n    emit(\"b\", b);\n}\n", "3 E0101, 5 E0201"},
		{"a declaration", "fun helper(a: Int) -> Int { a }\nclass Point { x: Int }\nfn main() {\n    let p: Point = helper(1);\n    emit(\"a\", p);\n}\n", "1 E0111, 2 E0111"},
		{"a row", "enum E { A, B C: , D }\nfn main() {\n    let e = E::C;\n    emit(\"e\", match e { E::A => 1, _ => 2 });\n}\n", "1 E0101"},
		{"an import", "use std::math;\nuse std::time::now;\nfn main() {\n    let a = math::sqrt(2.0 * * now;\n    emit(\"a\", a);\n}\n", "4 E0108"},
		{"in a string", "use std::math;\nfn main() {\n    emit(\"root, math::sqrt(2.0));\n}\n", "3 E0002"},
		{"elsewhere", "fn f() {\n    let a b = 1;\n}\nfn main() {\n    emit(\"b\", b);\n}\n", "2 E0101, 5 E0201"},
	})
}

// TestNoFollowUpInBrokenBodies tests rule 3: if a body contains text that could not be parsed, or
// its end is guessed, diagnostics about missing values, unreachable code, assignments and unused
// names are omitted.
func TestNoFollowUpInBrokenBodies(t *testing.T) {
	slips(t, []slip{
		{"a missing value", "fn f() -> Int {\n    let a = 1;\n    return\n    foo bar;\n}\nfn main() { emit(\"f\", f()); }\n", "4 E0101"},
		{"reachability", "fn f() -> Int {\n    return 1;\n    let a = ;\n    2\n}\nfn main() { emit(\"f\", f()); }\n", "3 E0108"},
		{"assignment", "fn f(c: Bool) -> Int {\n    let a: Int;\n    if c { a = = 1; }\n    a\n}\nfn main() { emit(\"f\", f(true)); }\n", "3 E0108"},
		{"a guessed end", "fn f(c: Bool) -> Int {\n    let a = 1;\n    if c {\n        let b = 2;\n        return 1;\n\n    let d = 3;\n}\nfn main() { emit(\"f\", f(true)); }\n", "3 E0103"},
		{"the body beside it", "fn f() { let a = ; }\nfn g() -> Int { let b = 1; }\nfn main() { f(); emit(\"g\", g()); }\n", "1 E0108, 2 E0304"},
	})
}

// TestNoFollowUpForMissingParts tests rule 4: if a match, listen, literal, impl or call has a part
// with syntax errors, diagnostics about missing parts are omitted.
func TestNoFollowUpForMissingParts(t *testing.T) {
	slips(t, []slip{
		{"match", "enum E { A, B, C }\nfn f(e: E) -> Int {\n    match e {\n        E::A => 1,\n        E::\n    }\n}\nfn main() { emit(\"f\", f(E::B)); emit(\"f\", f(E::C)); emit(\"f\", f(E::A)); }\n", "5 E0101"},
		{"listen", "host W { connector: worker }\nfn main() {\n    let _r = listen W.execute(\"go\") {\n        \"ques\n    };\n}\n", "4 E0002"},
		{"literal", "struct P { x: Int, y: Int }\nfn main() {\n    let p = P { x: 1,\n    emit(\"p\", p.x + p.y);\n}\n", "3 E0101"},
		{"pattern", "struct P { x: Int, y: Int }\nfn f(p: P) -> Int {\n    let P { x,  = p;\n    x\n}\nfn main() { emit(\"p\", f(P { x: 1, y: 2 })); }\n", "3 E0101"},
		{"impl", "trait T { fn a(self) -> Int; fn b(self) -> Int; }\nstruct P { x: Int }\nimpl T for P {\n    fn a(self) -> Int { self.x }\n    fn\n}\nfn main() { emit(\"p\", P { x: 1 }.a()); }\n", "5 E0101"},
		{"call", "fn f(a: Int, b: Int) -> Int { a + b }\nfn main() {\n    let x = f(1, ;\n    let y = f(1,\n    emit(\"x\", x + y);\n}\n", "3 E0108, 4 E0101"},
		{"method", "fn main() {\n    let s = \"a\".replace(\"a\", ;\n    emit(\"s\", s);\n}\n", "2 E0108"},
		{"whole ones", "struct P { x: Int, y: Int }\nfn f(a: Int) -> Int { a }\nfn main() {\n    let p = P { x: 1 };\n    let q = ;\n    emit(\"p\", [p.x, f(), q]);\n}\n", "4 E0320, 5 E0108, 6 E0401"},
	})
}

// TestOneSyntaxErrorPerConstruct tests rule 5: a construct causes one syntax error, and no errors
// in the following lines that its repair would remove.
func TestOneSyntaxErrorPerConstruct(t *testing.T) {
	slips(t, []slip{
		{"in a line", "fn main() {\n    let a = f(1 2 3, ) ] );\n}\n", "2 E0101"},
		{"in a header", "fn f(a Int, b Int, c Int -> Int { 1 }\n", "1 E0101"},
		{"a struct in a head", "enum E { A, B { w: Int } }\nfn main() {\n    match E::B { w: 1 } {\n        E::B { w } => emit(\"w\", w),\n        E::A => emit(\"a\", 1),\n    }\n    if E::B { w: 1 } == E::A { emit(\"a\", 2); }\n}\n", "3 E0127, 7 E0127"},
		{"two constructs", "fn main() {\n    let a = ;\n    let b = ;\n}\n", "2 E0108, 3 E0108"},
		{"a path over two lines", "enum E { A, B(Int) }\nfn main() {\n    let a = E::\n    A;\n    let b = E::\n        B(1);\n    emit(\"e\", [a, b]);\n}\n", ""},
		{"missing at the end of a line", "fn main() {\n    let a =\n    let b = 2;\n}\n", "2 E0108"},
	})
}

// TestNoFollowUpOnLaterLines checks that a missing part is reported on its line, and not on the
// following lines.
func TestNoFollowUpOnLaterLines(t *testing.T) {
	const head = "use std::math;\nstruct P { x: Int, y: Int }\nenum E { A, B }\nfn g(a: Int, b: Int) -> Int { a + b }\nfn f(p: P, e: E) -> Int {\n    let base = p.x;\n    "
	nexts := map[string]string{
		"let":   "let q = P { x: base, y: 2 };\n    emit(\"q\", q.x);",
		"if":    "if base == 1 {\n        emit(\"a\", 1);\n    }",
		"match": "match e {\n        E::A => emit(\"a\", 1),\n        _ => emit(\"b\", 1),\n    }",
		"for":   "for i in 0..3 { emit(\"i\", i); }",
		"while": "while base > 4 { emit(\"w\", 1); }",
		"call":  "println(math::max(base, 1));",
		"end":   "",
	}
	const tail = "\n    base + 1\n}\nfn main() { emit(\"f\", f(P { x: 1, y: 2 }, E::B)); emit(\"g\", g(1, 2)); emit(\"m\", math::max(1, 2)); }\n"
	for half, c := range map[string]struct {
		code string // the expected code; if there are two, either is correct, and E0501 may be together with the other
		not  string // keys of the following texts that continue the construct, so that they are not tested
	}{
		"let k =": {"E0108", "call"}, "let k:": {"E0109", ""}, "let": {"E0110", ""}, "let mut": {"E0110", ""},
		"if": {"E0108", ""}, "while": {"E0108", ""}, "for": {"E0110", ""}, "for z in": {"E0108", ""}, "for z in 0..": {"E0108 E0114", ""},
		"if base ==": {"E0108", ""}, "while base <": {"E0108", ""}, "if let": {"E0110", ""}, "if let Some(z) =": {"E0108", ""},
		"return": {"E0102", "call end"}, "g(": {"E0108 E0101", ""}, "g(1,": {"E0101", ""}, "g(a:": {"E0108", ""}, "g(a: 1,": {"E0101 E0108", "call end"},
		"let k = [": {"E0108 E0101", ""}, "let k = [1,": {"E0101", ""}, "let k = P { x: 1,": {"E0101", ""}, "let k = P { x:": {"E0108", "end"},
		"let k = E::": {"E0101", ""}, "let k = math::": {"E0101", ""}, "let k = |z: Int,": {"E0101", ""}, "let k = base +": {"E0108", "call end"},
		"base = ": {"E0108 E0501", "call end"}, "let (a, b": {"E0101", ""}, "let k = \"a ${base": {"E0002", ""}, "fn z(a: Int,": {"E0101", "call end"},
	} {
		for next, text := range nexts {
			if strings.Contains(c.not, next) {
				continue
			}
			got := strings.Split(checkCodes(t, nil, head+half+"\n    "+text+tail, nil), ", ")
			for _, d := range got {
				if line, code, _ := strings.Cut(d, " "); line != "7" || !strings.Contains(c.code, code) || len(got) > 1 && !strings.Contains(c.code, "E0501") {
					t.Errorf("diagnostics of %q before the line %q = %s, want only %s on line 7", half, text, got, c.code)
				}
			}
		}
	}
}

// TestNoFollowUpFromUnreadableFiles tests rule 6: a manifest that cannot be read may declare every
// name, and a module that cannot be read may export every name.
func TestNoFollowUpFromUnreadableFiles(t *testing.T) {
	unread := &sema.Manifest{File: "Concerto.toml", Unread: true}
	src := "agent A uses anything { model: \"m\" }\nhost W { connector: worker, question_default: \"\" }\nfn main() {\n    let _ = A.execute(\"x\");\n    let _ = W.execute(\"x\");\n}\n"
	if got := checkCodes(t, unread, src, nil); got != "" {
		t.Errorf("diagnostics with an unreadable manifest = %s, want none", got)
	}
	if got := checkCodes(t, &sema.Manifest{File: "Concerto.toml"}, src, nil); got == "" {
		t.Error("no diagnostics with a manifest that declares nothing")
	}
	src = "mod gone;\nuse gone::{thing, Type};\nfn f(t: Type) -> gone::Other { thing(t).x }\nfn main() { emit(\"a\", gone::make(1).y); emit(\"b\", f(gone::A)); }\n"
	if got := checkCodes(t, manifest, src, nil); got != "1 E0227" {
		t.Errorf("diagnostics with a module without a file = %s", got)
	}
	src = "mod half;\nuse half::{thing, Type};\nfn main() { let t: Type = thing(half::other(1)); emit(\"a\", t); }\n"
	half := map[string]string{"half.conc": "pub fn thing(a: Int) -> Type { Type { x: a } }\npub strukt Type { x: Int }\npub func other(a: Int) -> Int { a }\n"}
	if got := checkCodes(t, manifest, src, half); got != "2 E0111, 3 E0111" {
		t.Errorf("diagnostics with a module that has syntax errors = %s", got)
	}
}

// TestSuggestionsAddNoLibraryErrors checks that the search for suggestions in the library reports
// no errors in the library.
func TestSuggestionsAddNoLibraryErrors(t *testing.T) {
	src := "agent A uses demo { model: \"m\" }\nfn main() {\n    let a = Unknown.execute(\"x\")?;\n    let b = A.execute(\"y\")?;\n    println(a.text, b.text);\n}\n"
	if got := checkCodes(t, manifest, src, nil); got != "3 E0201" {
		t.Errorf("diagnostics = %s, want only 3 E0201", got)
	}
}
