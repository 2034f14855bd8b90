package vm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// TestInvalidProgramEndsRun runs programs that read a field of nil. The verifier accepts such a
// program, and the run ends with an error about an invalid program, even if the read is in a task
// that no other task awaits.
func TestInvalidProgramEndsRun(t *testing.T) {
	for _, code := range []string{
		"LoadNil r1\nField r2 r1 0\nReturn r2",
		"LoadNil r1\nFieldInt r2 r1 0\nBoxInt r2 r2\nReturn r2",
		"LoadNil r1\nJumpVariant r1 0 @a\n@a: Return r1",
		"LoadNil r1\nSpawn r2 r1 1 f1\nAwait r2 r2\nReturn r2",
	} {
		a := newAsm()
		a.fn("main() Full 4", code)
		a.fn("reads(Full) Full 4", "Field r2 r1 0\nReturn r2")
		m, err := New(Config{Program: &a.Program, Performer: effectless})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Run(context.Background())
		var broken *Broken
		if !errors.As(err, &broken) || !errors.Is(err, ir.ErrInvalid) || !strings.Contains(broken.Stack, "(*task).run") {
			t.Errorf("%s: %v", code, err)
		}
	}
}
