package report

import (
	"encoding/hex"

	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// spans contains the kinds of items that are exported as spans.
var spans = map[event.Kind]bool{
	event.Task: true, event.Pipeline: true, event.Stage: true, event.Agent: true, event.Model: true, event.Tool: true, event.MCP: true, event.HTTP: true,
	event.Command: true, event.Exchange: true, event.Question: true, event.Approval: true, event.Await: true,
}

// SetTrace sets the ids of the run's trace and of its spans, which are those of the export to a
// collector (spec/40-telemetry.md).
func (r *Report) SetTrace(trace otlp.TraceID) {
	if r.Run.ID == "" {
		return
	}
	r.Run.Trace = hex.EncodeToString(trace[:])
	keys := otlp.NewKeys(r.Run.ID)
	run := keys.Next(string(event.Run), 0)
	for _, x := range r.Items {
		number := x.Task
		if x.Effect != nil {
			number = *x.Effect
		}
		switch kind := event.Kind(x.Kind); {
		case kind == event.Run:
			x.Span = hex.EncodeToString(run[:])
		case spans[kind]:
			id := keys.Next(x.Kind, number)
			x.Span = hex.EncodeToString(id[:])
		}
	}
}
