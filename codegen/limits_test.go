package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/ir"
)

// TestManyVariables runs a function that has more variables than there are registers. The later
// variables are in the spill block, or in cells if closures share them. The function changes them
// in place.
func TestManyVariables(t *testing.T) {
	var b strings.Builder
	b.WriteString("struct P { x: Int, xs: Array<Int> }\nfn many(seed: Int) -> Int {\n    let mut sum = seed;\n")
	for i := range 300 {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "    let mut v%d = %d; v%d += 1;\n", i, i, i)
		case 1:
			fmt.Fprintf(&b, "    let mut v%d = [%d]; v%d.push(1); v%d[0] += 1;\n", i, i, i, i)
		case 2:
			fmt.Fprintf(&b, "    let mut v%d = %d; let f%d = |n: Int| { v%d += n; }; f%d(2);\n", i, i, i, i, i)
		case 3:
			fmt.Fprintf(&b, "    let mut v%d = P { x: %d, xs: [] }; v%d.x += 5; v%d.xs.push(%d);\n", i, i, i, i, i)
		case 4:
			fmt.Fprintf(&b, "    let v%d: Int; if seed > 0 { v%d = %d; } else { v%d = 0; }\n", i, i, i, i)
		}
	}
	want := 1
	for i := range 300 {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "    sum += v%d;\n", i)
			want += i + 1
		case 1:
			fmt.Fprintf(&b, "    for x in v%d { sum += x; }\n", i)
			want += i + 2
		case 2:
			fmt.Fprintf(&b, "    f%d(1); sum += v%d;\n", i, i)
			want += i + 3
		case 3:
			fmt.Fprintf(&b, "    sum += v%d.x + v%d.xs[0];\n", i, i)
			want += 2*i + 5
		case 4:
			fmt.Fprintf(&b, "    try { if v%d < 0 { throw \"no\"; } sum += v%d; } catch { sum = 0; }\n", i, i)
			want += i
		}
	}
	b.WriteString("    sum\n}\nfn main() { emit(\"sum\", many(1)); }\n")
	p := compiletest.Compile(t, b.String())
	for _, copies := range []bool{false, true} {
		if got := run(t, p, "", copies); got != fmt.Sprintf("[sum] %d\n", want) {
			t.Errorf("sum of the variables = %s, want %d", got, want)
		}
	}
}

// TestLongLiterals creates arrays, maps, interpolations and argument lists that have more elements
// than there are registers.
func TestLongLiterals(t *testing.T) {
	const n = 1000
	part := func(format, sep string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, sep)
	}
	text := "fn main() {\n    let x = 1;\n    let xs = [" + part("x + %d", ", ") + "];\n" +
		"    let m = {" + part(`"k%d": x`, ", ") + "};\n" +
		"    let s = \"" + part("${x}%d", " ") + "\";\n" +
		"    println(" + strings.TrimSuffix(strings.Repeat("x, ", n), ", ") + ");\n" +
		"    emit(\"all\", [xs.len(), xs[0], xs[999], m.len(), s.len()]);\n}\n"
	got := run(t, compiletest.Compile(t, text), "", false)
	want := strings.TrimSuffix(strings.Repeat("1 ", n), " ") + "\n[all] [1000,1,1000,1000,4889]\n"
	if got != want {
		t.Errorf("program output = %.200s…", got)
	}
}

// TestTooManyRegisters nests an expression deeper than the number of registers. The result must be
// a diagnostic with a position.
func TestTooManyRegisters(t *testing.T) {
	text := "fn f(n: Int) -> Array<Any> {\n    [n, " + strings.Repeat("[n + 1, ", 300) + "1" + strings.Repeat("]", 300) + "]\n}\nfn main() { emit(\"x\", f(1)); }\n"
	_, diags := compiletest.Source(text)
	found := diags.Sorted()
	if len(found) != 1 || found[0].Info.Code != "E0901" || found[0].File.Position(found[0].Span.Start).Line != 2 {
		t.Fatalf("diagnostics = %v, want one about too many registers", found)
	}
}

// TestLongChain adds more variables than there are registers. It needs few registers, because only
// two operands live at a time.
func TestLongChain(t *testing.T) {
	var b strings.Builder
	b.WriteString("fn main() {\n")
	names := make([]string, 600)
	for i := range names {
		names[i] = fmt.Sprintf("x%d", i)
		fmt.Fprintf(&b, "    let x%d = %d;\n", i, i)
	}
	fmt.Fprintf(&b, "    emit(\"sum\", %s);\n", strings.Join(names, " + "))
	fmt.Fprintf(&b, "    emit(\"text\", \"\" + \"${%s}\");\n}\n", strings.Join(names, "}\" + \"${"))
	want := "[sum] 179700\n[text] \""
	for i := range names {
		want += fmt.Sprint(i)
	}
	if got := run(t, compiletest.Compile(t, b.String()), "", false); got != want+"\"\n" {
		t.Errorf("program output = %.300s…", got)
	}
}

// TestSize checks the number of instructions in a small function.
func TestSize(t *testing.T) {
	p := compiletest.Compile(t, "fn fib(n: Int) -> Int { if n < 2 { return n; } fib(n - 1) + fib(n - 2) }\nfn main() { emit(\"x\", fib(5)); }\n")
	var code []string
	for _, i := range p.Functions[0].Code {
		code = append(code, i.String())
	}
	want := "JumpGeIntK r1 2 @2|ReturnInt r1|SubIntK r3 r1 1|Call r2 f0|SubIntK r4 r1 2|Call r3 f0|AddInt r2 r2 r3|ReturnInt r2"
	if got := strings.Join(code, "|"); got != want {
		t.Errorf("code of fib =\n%s\nwant\n%s", got, want)
	}
	if p.Functions[0].ABI != ir.Typed {
		t.Errorf("ABI of fib = %s", p.Functions[0].ABI)
	}
}
