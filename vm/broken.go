package vm

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/concerto-lang/concerto/ir"
)

// A Broken program reads, in an instruction, what is not there. The verifier
// proves that registers are set, not which values are in them: that would take
// types that the format does not have. So what only a changed file holds, or the
// compiler's own mistake, is found when it runs, and ends the run.
type Broken struct {
	Stack string // Go's, of where it was found
}

func (e *Broken) Error() string {
	return ir.ErrInvalid.Error() + ": an instruction reads what is not there"
}
func (e *Broken) Unwrap() error { return ir.ErrInvalid }

// missingOperand says whether the machine has panicked since an instruction's operand is
// nil, or gives nil. The loop does not look: that would cost each instruction, and
// the processor does.
func missingOperand(panicked any) *Broken {
	if _, ok := panicked.(runtime.Error); !ok || !strings.Contains(panicked.(error).Error(), "nil pointer") {
		return nil
	}
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function == "runtime.sigpanic" {
			if f, _ = frames.Next(); strings.HasSuffix(f.Function, "vm.(*task).run") {
				return &Broken{Stack: string(debug.Stack())}
			}
			return nil
		}
		if !more {
			return nil
		}
	}
}
