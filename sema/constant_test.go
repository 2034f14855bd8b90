package sema_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
)

// TestConstantFoldingMatchesVM applies each operator to each pair of values. The
// checker's result for constants must be the machine's result for variables.
func TestConstantFoldingMatchesVM(t *testing.T) {
	var consts, body strings.Builder
	n := 0
	same := func(typ, constant, computed string) {
		fmt.Fprintf(&consts, "const C%d: %s = %s;\n", n, typ, constant)
		fmt.Fprintf(&body, "    assert_eq(C%d, %s);\n", n, computed)
		n++
	}
	for _, of := range []struct {
		typ        string
		values     []string
		arithmetic string
		orders     string
	}{
		{"Int", []string{"7", "-3", "2"}, "+ - * / %", "< <= > >= == !="},
		{"Float", []string{"2.5", "-0.5", "4.0"}, "+ - * / %", "< <= > >= == !="},
		{"String", []string{`"ab"`, `"b"`, `""`}, "+", "< <= > >= == !="},
		{"Bool", []string{"true", "false"}, "&& ||", "== !="},
	} {
		for _, x := range of.values {
			for _, y := range of.values {
				fmt.Fprintf(&body, "    let x: %s = given(%s); let y: %s = given(%s);\n", of.typ, x, of.typ, y)
				for _, op := range strings.Fields(of.arithmetic) {
					same(of.typ, fmt.Sprintf("(%s) %s (%s)", x, op, y), "x "+op+" y")
				}
				for _, op := range strings.Fields(of.orders) {
					same("Bool", fmt.Sprintf("(%s) %s (%s)", x, op, y), "x "+op+" y")
				}
			}
		}
	}
	same("Int", "-(3 + 4)", "-given(7)")
	same("Float", "-(1.5)", "-given(1.5)")
	same("Bool", "!(1 < 2)", "!given(true)")
	same("(Int, String)", `(1 + 1, "a" + "b")`, `(given(2), given("ab"))`)
	same("Array<Int>", "[C0, C1 * 2]", "[C0, C1 + C1]")
	same("Map<String, Int>", `{ "a": 1 + 1, "b": -1 }`, `{ "a": given(2), "b": given(-1) }`)
	same("Option<Int>", "None", "nothing()")
	same("Shape", "Shape::Dot", "given(Shape::Dot)")
	text := "enum Shape { Dot, Line }\nfn given<T>(x: T) -> T { x }\nfn nothing() -> Option<Int> { None }\n" + consts.String() + "fn main() {\n" + body.String() + "}\n"
	p := compiletest.Compile(t, text)
	if _, failed, err := compiletest.Run(context.Background(), compiletest.Config(p, nil, false)); err != nil || failed != nil {
		t.Fatalf("the program fails: %v %s\n%s", err, compiletest.Failure(failed), compiletest.Trace(failed))
	}
}
