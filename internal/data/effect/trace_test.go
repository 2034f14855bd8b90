package effect

import "testing"

type everyTrace struct{}

func (everyTrace) Trace(Request) func() []Header {
	return func() []Header { return []Header{{Name: "traceparent", Value: "a"}} }
}

// TestTraced checks that each kind of request that reaches another process passes the trace on. A
// new kind of these areas belongs to Traced, or to the kinds below.
func TestTraced(t *testing.T) {
	outside := map[Area]bool{Models: true, Hosts: true, Servers: true, Web: true, Commands: true, Applications: true}
	const part, inside = "a part of a call that has its trace", "reaches no other process"
	not := map[Kind]string{
		KindStreamNext: part, KindStreamClose: part, KindExchangeNext: part, KindExchangeReply: part, KindExchangeSteer: part, KindExchangeContinue: part, KindExchangeGate: part, KindExchangeClose: part, KindMCPNext: part, KindMCPReply: part,
		KindMCPChanged: inside, KindAppList: inside, KindAppPrepare: inside, KindAppDecide: inside, KindAppLeave: inside, KindAppMock: inside, KindAuditCall: inside, KindAuditDone: inside, KindHostTasks: inside,
	}
	ctx := WithTracer(t.Context(), everyTrace{})
	for _, row := range Table() {
		got := TraceHeaders(Traced(ctx, row.Request())) != nil
		if want := outside[row.By] && not[row.Kind] == ""; got != want {
			t.Errorf("%s: has a trace: %v, want %v", row.Kind, got, want)
		}
		if not[row.Kind] != "" && !outside[row.By] {
			t.Errorf("%s is listed for nothing", row.Kind)
		}
	}
}
