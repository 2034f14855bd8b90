package hostmsg

import "testing"

// TestRows holds the rows to what their columns mean together.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if m.Type == "" || seen[m.Type] || m.Doc == "" {
			t.Errorf("%q: a row needs a unique type and a meaning", m.Type)
		}
		seen[m.Type] = true
		if (m.Schema == "") == (len(m.Members) == 0) {
			t.Errorf("%s: a row has a schema or members", m.Type)
		}
		if m.Handled() && m.Schema == "" {
			t.Errorf("%s: a handler's parameter requires a schema", m.Type)
		}
		if m.Sender == Concerto && (m.Role != Notifies || Of(m.Type).IsKnown()) {
			t.Errorf("%s: hosts do not send it", m.Type)
		}
		if m.Sender == Host && Of(m.Type) != m {
			t.Errorf("%s is not found", m.Type)
		}
		if (m.Timed || m.Default != "") && !m.Waits() {
			t.Errorf("%s: only what asks is answered", m.Type)
		}
		if (m.Form != NoForm) != (m.Waits() && m.Channel != "") {
			t.Errorf("%s: a person answers what asks and has a channel, and nothing else", m.Type)
		}
		if (m.Channel != "" || m.Unhandled != Reported) && !m.Handled() {
			t.Errorf("%s: no handler takes it", m.Type)
		}
		if m.Unhandled == Gathered && m.Waits() {
			t.Errorf("%s: a piece of the result is not answered", m.Type)
		}
	}
	for _, typ := range []string{"", "own", "question ", "anything longer than every type", Prompt} {
		if m := Of(typ); m.IsKnown() || m.Waits() || m.Terminal() || !m.Handled() {
			t.Errorf("%q: %+v", typ, m)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	types := []string{"progress", "own", "withdraw", "tool_call", "init_ack", "result"}
	for i := range b.N {
		if Of(types[i%len(types)]).Role == Acknowledges && i < 0 {
			b.Fatal()
		}
	}
}
