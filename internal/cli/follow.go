package cli

import "github.com/concerto-lang/concerto/internal/cli/console"

// followDebugger lets whoever debugs the run end it.
func followDebugger(a *console.Console, signals *interrupts) {
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
				signals.interrupt()
			case <-signals.done:
				return
			}
		}
	}()
}
