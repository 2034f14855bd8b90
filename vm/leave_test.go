package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestErrorTrace checks the report of an Err that main returns. The report contains the places
// where the Err was created and where functions returned it. If it was converted from another Err,
// the places of that Err come first.
func TestErrorTrace(t *testing.T) {
	for name, c := range map[string]struct {
		main string
		want []string
	}{
		"left":      {"Call r1 f1\nJumpVariant r1 0 @ok\nLeave r1\nReturn r1\n@ok: Return r1", []string{"made:2", "hands:1", "main:3"}},
		"converted": {"Call r1 f1\nJumpVariant r1 0 @ok\nField r2 r1 0\nNewErrOf r3 r2 r1\nReturn r3\n@ok: Return r1", []string{"made:2", "hands:1", "main:4"}},
		"raised":    {"Call r1 f1\nJumpVariant r1 0 @ok\nField r2 r1 0\nLeave r1\nThrow r2\n@ok: Return r1", []string{"made:2", "hands:1", "main:5"}},
		"handed on": {"Call r1 f1\nReturn r1", []string{"made:2", "hands:1", "main:1"}},
		"made":      {"LoadConst r1 k0\nNewErr r2 r1\nReturn r2", []string{"main:2"}},
		"deep":      {"LoadInt r3 200\nCall r2 f3\nJumpVariant r2 0 @ok\nLeave r2\nReturn r2\n@ok: Return r2", []string{"made:2", "138 left", "down:6 63 times", "main:4"}},
		"kept":      {"Call r1 f1\nCall r2 f1\nJumpVariant r1 0 @ok\nLeave r1\nReturn r1\n@ok: Return r1", []string{"made:2", "hands:1", "main:4"}},
		"nobody's":  {"LoadNil r1\nCall r1 f4\nReturn r1", []string{"made:2", "hands:1", "again:1", "main:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsm()
			a.str("bad")
			a.fn("main() Full 8", c.main)
			a.fn("hands() Full 4", "Call r1 f2\nReturn r1")
			a.fn("made() Full 4", "LoadConst r1 k0\nNewErr r2 r1\nReturn r2")
			a.fn("down(Int) Full 6", "JumpEqIntK r1 0 @end\nSubIntK r4 r1 1\nCall r3 f3\nJump @left\n@end: Call r3 f2\n@left: Leave r3\nReturn r3")
			a.fn("again() Full 4", "Call r1 f1\nReturn r1")
			u := a.wantError(t, "bad")
			if u == nil {
				return
			}
			if diff := cmp.Diff(c.want, formatTrace(u.Trace)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCaughtErrorHasNoTrace checks that, without a debugger, an error that a `try` of the same
// function catches is an ordinary value.
func TestCaughtErrorHasNoTrace(t *testing.T) {
	a := newAsm()
	a.str("bad")
	a.fn("main() Full 4", "LoadConst r1 k0\nCaught r1 0\nCaught r1 1\nReturn r1")
	a.want(t, `"bad"`)
}

// TestReturnedNonErrorHasNoTrace checks that a function which `?` leaves with a value that is no
// Err faults.
func TestReturnedNonErrorHasNoTrace(t *testing.T) {
	for code, op := range map[string]string{"LoadNil r1\nLeave r1\nReturn r1": "Leave", "LoadNil r1\nNewOk r1 r1\nLeave r1\nReturn r1": "Leave",
		"LoadNil r1\nNewErrOf r2 r1 r1\nReturn r2": "NewErrOf"} {
		a := newAsm()
		a.fn("main() Full 4", code)
		a.wantError(t, "broken program: operand of "+op)
	}
}
