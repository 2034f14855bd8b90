package vm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// TestBroken: reading inside nil passes the verifier and ends the run as an
// invalid program, also in a task that is never awaited.
func TestBroken(t *testing.T) {
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
