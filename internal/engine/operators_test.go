package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// TestEveryOperator computes each operator of the table in each way in which a program can: as a
// constant, with variables, with a constant on each side, with values of type Any, as a condition,
// and by assignment. All results must be the same. A new operator that a stage does not know is
// reported here.
func TestEveryOperator(t *testing.T) {
	operands := map[ast.OpKind][][3]string{
		ast.Arithmetic: {{"Int", "7", "3"}, {"Int", "2", "10"}, {"Float", "7.5", "2.0"}},
		ast.Ordering:   {{"Int", "7", "3"}, {"Int", "3", "3"}, {"Int", "2", "3"}, {"Float", "1.5", "2.0"}, {"String", `"b"`, `"a"`}},
		ast.Equality:   {{"Int", "7", "3"}, {"Int", "3", "3"}, {"Float", "1.5", "2.0"}, {"String", `"b"`, `"a"`}, {"Bool", "true", "false"}},
		ast.Logical:    {{"Bool", "true", "false"}, {"Bool", "false", "true"}, {"Bool", "true", "true"}},
	}
	// The operators with their own code have tests of their own, here a program each.
	others := map[ast.Op][2]string{
		ast.OpCoalesce: {`let a: Int? = nil; println(a ?? 3);`, "3"},
		ast.OpPipe:     {`fn twice(n: Int) -> Int { 2 * n } println(4 |> twice);`, "8"},
		ast.OpNot:      {`println(!true);`, "false"},
		ast.OpNeg:      {`let a = 3; println(-a);`, "-3"},
	}
	for i := range ast.Ops {
		op := ast.Op(i)
		if op == ast.OpNone {
			continue
		}
		t.Run(op.String(), func(t *testing.T) {
			if op.Kind() == ast.OtherOp {
				program, ok := others[op]
				if !ok {
					t.Fatalf("the operator %s has no kind in ast.Ops, and no program in this test", op)
				}
				if got := printed(t, "fn main() { "+program[0]+" }"); got != program[1]+"\n" {
					t.Errorf("%s prints %q, want %s", program[0], got, program[1])
				}
				return
			}
			for _, x := range operands[op.Kind()] {
				everyWay(t, op, x[0], x[1], x[2])
			}
		})
	}
}

// everyWay computes `a op b` in each way.
func everyWay(t *testing.T, op ast.Op, typ, a, b string) {
	t.Helper()
	result := typ
	if op.Kind() != ast.Arithmetic {
		result = "Bool"
	}
	ways := []string{
		"println(C);", "println(vars(A, B));", "println(right(A));", "println(left(B));", "println(anys(A, B));", "println(any_right(A));",
	}
	code := fmt.Sprintf(`const A: %[1]s = %[2]s;
const B: %[1]s = %[3]s;
const C: %[5]s = %[2]s %[4]s %[3]s;
fn vars(a: %[1]s, b: %[1]s) -> %[5]s { a %[4]s b }
fn right(a: %[1]s) -> %[5]s { a %[4]s %[3]s }
fn left(b: %[1]s) -> %[5]s { %[2]s %[4]s b }
fn anys(a: Any, b: Any) -> Any { a %[4]s b }
fn any_right(a: Any) -> Any { a %[4]s %[3]s }
`, typ, a, b, op, result)
	if op.Kind() == ast.Logical { // its operands are conditions
		code = strings.ReplaceAll(code, "-> Any", "-> Bool")
	}
	if result == "Bool" {
		code += fmt.Sprintf("fn branch(a: %[1]s, b: %[1]s) -> Bool { if a %[2]s b { true } else { false } }\nfn not_branch(a: %[1]s, b: %[1]s) -> Bool { if !(a %[2]s b) { false } else { true } }\n", typ, op)
		ways = append(ways, "println(branch(A, B));", "println(not_branch(A, B));")
	}
	if _, ok := lexer.Lookup(op.String() + "="); ok && op.Kind() == ast.Arithmetic {
		ways = append(ways, fmt.Sprintf("let mut v = A; v %[1]s= B; println(v);", op), fmt.Sprintf("let mut v = A; v %[1]s= %[2]s; println(v);", op, b))
	}
	code += "fn main() {\n"
	for _, way := range ways {
		code += "    { " + way + " }\n"
	}
	code += "}\n"
	lines := strings.Split(strings.TrimSpace(printed(t, code)), "\n")
	if len(lines) != len(ways) {
		t.Fatalf("%d results of %d ways:\n%s", len(lines), len(ways), code)
	}
	for i, line := range lines {
		if line != lines[0] {
			t.Errorf("%s %s %s is %s as a constant, and %s in %s", a, op, b, lines[0], line, ways[i])
		}
	}
	text, found := format.Source(source.NewFile("main.conc", []byte(code)), 100)
	if found.HasErrors() || strings.Count(string(text), " "+op.String()+" ") < 6 {
		t.Errorf("the formatter changes `%s`:\n%s", op, text)
	}
}

// printed runs a program and returns its output.
func printed(t *testing.T, code string) string {
	t.Helper()
	p, found, err := CompileSource(driver.Request{Dir: t.TempDir(), Inline: &driver.Inline{Name: "main.conc", Text: []byte(code), Alone: true}})
	if err != nil || found.HasErrors() {
		for _, d := range found.Sorted() {
			t.Log(d.File.Position(d.Span.Start), d.Message)
		}
		t.Fatalf("error %v, %d diagnostics in\n%s", err, found.Len(), code)
	}
	var out bytes.Buffer
	if err := p.Run(t.Context(), Options{Output: Output{To: &out}}); err != nil {
		t.Fatalf("%v\n%s", err, code)
	}
	return out.String()
}
