package vm

import (
	"fmt"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// TestJumpTables compares a table with its tests, which run one by one because Count disables
// tables. Of equal tests the first one decides. If no test matches the value, control continues
// after the tests.
func TestJumpTables(t *testing.T) {
	const ints = "JumpEqIntK r2 -3 @a\nJumpEqIntK r2 4 @b\nJumpEqIntK r2 -1 @b\nJumpEqIntK r2 4 @a\nJumpEqIntK r2 0 @c\n"
	const ends = "LoadConst r1 k0\nReturn r1\n@a: LoadConst r1 k1\nReturn r1\n@b: LoadConst r1 k2\nReturn r1\n@c: LoadConst r1 k3\nReturn r1"
	run := func(code string, want string) {
		t.Helper()
		for _, plain := range []bool{false, true} {
			a := newAsm()
			for i := range 4 {
				a.int(int64(i))
			}
			a.int(9223372036854775807)
			a.int(-9223372036854775808)
			for _, s := range []string{"a", "b", "c", "long enough to be no short text", "other"} { // from k6
				a.str(s)
			}
			a.typ(ir.TypeInfo{Kind: "enum", Name: "E", Variants: []ir.VariantInfo{{Name: "A"}, {Name: "B"}, {Name: "C"}, {Name: "D"}}})
			a.fn("main() Full 6", code)
			out, err := a.run(t, Config{Count: Counting{Instructions: plain}})
			if err != nil {
				t.Fatal(err)
			}
			if got := value.Text(out.Value); got != want {
				t.Errorf("%s (plain %v): got %s, want %s", code, plain, got, want)
			}
		}
	}
	for n, want := range map[int]string{-4: "0", -3: "1", -2: "0", -1: "2", 0: "3", 1: "0", 4: "2", 5: "0"} {
		run(fmt.Sprintf("LoadInt r2 %d\n", n)+ints+ends, want)
	}
	run("LoadIntConst r2 k4\n"+ints+ends, "0")
	run("LoadIntConst r2 k5\n"+ints+ends, "0")
	for v, want := range []string{"2", "0", "1", "3"} {
		run(fmt.Sprintf("NewVariant r2 r3 %d t0\n", v)+"JumpVariant r2 2 @a\nJumpVariant r2 0 @b\nJumpVariant r2 3 @c\n"+ends, want)
	}
	run("LoadConst r2 k0\nJumpVariant r2 2 @a\nJumpVariant r2 0 @b\nJumpVariant r2 3 @c\n"+ends, "0")
	const texts = "JumpEqualK r2 k7 @a\nJumpEqualK r2 k6 @b\nJumpEqualK r2 k8 @b\nJumpEqualK r2 k6 @a\nJumpEqualK r2 k9 @c\n"
	for k, want := range map[int]string{6: "2", 7: "1", 8: "2", 9: "3", 10: "0", 0: "0"} {
		run(fmt.Sprintf("LoadConst r2 k%d\n", k)+texts+ends, want)
	}
	// A constant that is no String ends the sequence of tests for Strings.
	run("LoadConst r2 k1\n"+texts+"JumpEqualK r2 k1 @c\n"+ends, "3")
	// Control enters the sequence of tests in the middle, so that it is not loaded as a table.
	run("LoadInt r2 4\nJumpLtIntK r2 9 @in\nJumpEqIntK r2 4 @a\n@in: JumpEqIntK r2 3 @b\nJumpEqIntK r2 4 @c\n"+ends, "3")
	// The numbers differ too much for a table.
	run("LoadInt r2 30000\nJumpEqIntK r2 4 @a\nJumpEqIntK r2 30000 @b\nJumpEqIntK r2 -30000 @c\n"+ends, "2")
}
