package optimize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/ir"
)

// BenchmarkProgram optimises 2,000 lines of ordinary code.
func BenchmarkProgram(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, `fn f%d(n: Int) -> Int {
    let mut s = n;
    let xs = [1, 2, %d];
    for x in xs { s += x * %d; }
    if s > %d { s -= 1; } else { s += f%d(0); }
    let t = "v${s}";
    while s > 100 { s = s / 2; }
    match s { 1 => 2, 2 => 3, _ => s + t.len() }
}
`, i, i, i, i, max(i-1, 0))
	}
	text.WriteString("fn main() { emit(\"x\", f0(1)); }\n")
	plain := ir.Encode(compiletest.Compile(b, text.String()))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		p, err := ir.Decode(plain)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		optimize.Program(p, optimize.All)
	}
}
