package vm

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/concerto-lang/concerto/ir"
)

// A Broken program has an instruction that reads a value of the wrong kind. The
// verifier proves that registers are set, but not which values they hold: that
// would take types that the format does not have. Only a changed file or a bug
// of the compiler leads here. The mistake is found when the instruction runs,
// and ends the run.
type Broken struct {
	Stack string // Go's, of where it was found
}

func (e *Broken) Error() string {
	return ir.ErrInvalid.Error() + ": an instruction reads what is not there"
}
func (e *Broken) Unwrap() error { return ir.ErrInvalid }

// missingOperand gives the Broken program when the machine has panicked because
// an operand of an instruction is nil, and else nil. The loop does not check
// for nil, since that would cost time in every instruction; the processor's
// trap is the check.
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
