package report_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/ir"
)

// TestEstimatedUsage checks that tokens which a provider has not reported are marked as estimated.
func TestEstimatedUsage(t *testing.T) {
	for _, estimated := range []bool{false, true} {
		b := report.NewBuilder(true)
		show := b.Sink().Shows[event.Model]
		a := event.Attempt{Call: &effect.AgentCall{}, Connection: "main", Model: "m", Number: 1}
		show(&event.Event{Number: 1, Item: 1, Kind: event.Model, Phase: event.Begin, Name: "A", Attempt: &a})
		a.Reply = &effect.AgentReply{TokensIn: 10, TokensOut: 5, Estimated: estimated}
		a.Used = a.Reply.Sum(0, false)
		show(&event.Event{Number: 2, Item: 1, Kind: event.Model, Phase: event.End, Name: "A", Attempt: &a})
		r, err := b.Report(&ir.Program{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Items[0].Details.Estimated != estimated || r.Totals.All.Estimated != estimated || r.Totals.Models[0].Estimated != estimated {
			t.Errorf("item %t, all %t, model %t, want %t", r.Items[0].Details.Estimated, r.Totals.All.Estimated, r.Totals.Models[0].Estimated, estimated)
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "5 out, $? (estimated)\n"); got != estimated {
			t.Errorf("estimated %t, text:\n%s", estimated, text.String())
		}
	}
}
