package console

import (
	"github.com/concerto-lang/concerto/internal/engine/uncaught"
	"github.com/concerto-lang/concerto/vm"
)

// reportUncaught prints an uncaught error, and the errors of tasks that were not awaited.
func (a *Console) reportUncaught(e *vm.Uncaught) {
	if !a.WritesRecords() {
		uncaught.Write(a.Stderr, e, a.TTY.Color)
		return
	}
	a.writeRecord(a.failureRecord(e))
	for _, o := range e.Others {
		a.reportUncaught(o)
	}
}
