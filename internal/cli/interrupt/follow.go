package interrupt

import "github.com/concerto-lang/concerto/internal/cli/console"

// FollowDebugger ends the run when the debugger requests it.
func FollowDebugger(a *console.Console, signals *Handler) {
	if a.Debugging.Debugger == nil {
		return
	}
	if a.Debugging.Debugger.Launched() {
		lost := func() { a.Debugging.Debugger.Lost(console.ExitInterrupted) }
		signals.lost.Store(&lost)
	}
	go func() {
		for {
			select {
			case <-a.Debugging.Debugger.Interrupt:
				signals.Interrupt()
			case <-signals.done:
				return
			}
		}
	}()
}
