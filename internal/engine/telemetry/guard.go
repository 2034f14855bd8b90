package telemetry

import (
	"time"

	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// GuardCall is a decision about a call of a guarded session (spec/51-guard.md).
type GuardCall struct {
	Tool, ID, Args  string // Args is the SHA-256 sum of the arguments
	Decision        string
	ActorType, Name string
	Rule            string // FILE:LINE, or ""
	At              time.Time
	Took            time.Duration // that the decision took
	Executed        bool
	Alarm           bool // it was executed without a decision, or otherwise than decided
}

// ExportGuarded exports a session as a trace, whose ids depend on the session only: exporting it
// again has the same spans. The calls are in the order of their times.
func (t *Telemetry) ExportGuarded(session, agent string, calls []GuardCall) {
	trace, keys := otlp.TraceOf(session), otlp.NewKeys(session)
	if len(calls) == 0 || !t.config.Sampler.Sampled(trace, otlp.Context{}) {
		return
	}
	root := otlp.Span{Trace: trace, ID: keys.Next("session", 0), Name: "concerto.guard.session " + agent, Kind: otlp.Internal,
		Begin: calls[0].At.Add(-calls[0].Took), End: calls[len(calls)-1].At,
		Attributes: []otlp.Attribute{{Key: "gen_ai.agent.name", Value: agent}, {Key: "gen_ai.conversation.id", Value: session}}}
	t.exporter.Span(&root)
	for i, c := range calls {
		x := otlp.Span{Trace: trace, Parent: root.ID, ID: keys.Next("call", int64(i)), Name: "concerto.guard.call " + c.Tool, Kind: otlp.Internal, Begin: c.At.Add(-c.Took), End: c.At, Failed: c.Alarm}
		for _, a := range []otlp.Attribute{
			{Key: "gen_ai.tool.name", Value: c.Tool}, {Key: "gen_ai.tool.call.id", Value: c.ID},
			{Key: "concerto.approval.decision", Value: c.Decision}, {Key: "concerto.approval.actor.type", Value: c.ActorType}, {Key: "concerto.approval.actor.name", Value: c.Name},
			{Key: "concerto.approval.rule", Value: c.Rule}, {Key: "concerto.approval.args_sha256", Value: c.Args}, {Key: "concerto.guard.executed", Value: c.Executed},
		} {
			if a.Value != "" {
				x.Attributes = append(x.Attributes, a)
			}
		}
		if c.Alarm {
			x.Message = "executed without this decision"
		}
		t.exporter.Span(&x)
	}
}
