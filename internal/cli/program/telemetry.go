package program

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// OpenTelemetry starts the export that the variables of the environment ask for, if any. service is
// the name of the service, unless a variable sets it. end sends what is left and reports what could
// not be exported; it does not change the exit code.
func OpenTelemetry(a *console.Console, service string, isServer bool) (t *telemetry.Telemetry, end func()) {
	o := telemetry.Options{Service: service, Version: a.Binary.Release}
	if isServer {
		o.Failing = func(endpoint string, reason error) {
			if reason == nil {
				a.Notef("telemetry: %s works again\n", endpoint)
				return
			}
			a.Notef("telemetry: could not export to %s three times in a row: %v\n", endpoint, reason)
		}
	}
	t, problems := telemetry.Open(a.Environ, o)
	for _, p := range problems {
		a.Complain("warning: "+p, "")
	}
	if t == nil {
		return nil, func() {}
	}
	return t, func() {
		for _, p := range t.Close() {
			a.Notef("%s\n", describeProblem(&p))
		}
	}
}

func describeProblem(p *otlp.Problem) string { return console.Printable(fmt.Sprint(p)) }
