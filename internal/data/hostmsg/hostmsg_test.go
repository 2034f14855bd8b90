package hostmsg

import "testing"

// TestTableIsConsistent checks that the columns of each row are consistent.
func TestTableIsConsistent(t *testing.T) {
	seen := map[string]bool{}
	for i := range messages {
		m := &messages[i]
		if m.Type == "" || seen[m.Type] || m.Doc == "" {
			t.Errorf("%q: the type is empty or not unique, or the row has no Doc", m.Type)
		}
		seen[m.Type] = true
		if (m.Schema == "") == (len(m.Members) == 0) {
			t.Errorf("%s: the row must have either a schema or members", m.Type)
		}
		if m.Handled() && m.Schema == "" {
			t.Errorf("%s: the row has no schema for the parameter of a handler", m.Type)
		}
		if m.Sender == Concerto && (m.Role != Notifies || Lookup(m.Type).IsKnown()) {
			t.Errorf("%s: a message of Concerto must be a notification that Of does not return", m.Type)
		}
		if m.Sender == Host && Lookup(m.Type) != m {
			t.Errorf("Lookup(%q) does not return the row", m.Type)
		}
		if (m.Timed || m.Default != "") && !m.Waits() {
			t.Errorf("%s: Timed and Default are only valid for requests", m.Type)
		}
		if (m.Form != NoForm) != (m.Waits() && m.Channel != "") {
			t.Errorf("%s: a form is required exactly for requests with a channel", m.Type)
		}
		if (m.Channel != "" || m.Unhandled != Reported) && !m.Handled() {
			t.Errorf("%s: Channel and Unhandled are only valid for messages that a handler may receive", m.Type)
		}
		if m.Unhandled == Gathered && m.Waits() {
			t.Errorf("%s: a request cannot be part of the result", m.Type)
		}
	}
	for _, typ := range []string{"", "own", "question ", "anything longer than every type", Prompt} {
		if m := Lookup(typ); m.IsKnown() || m.Waits() || m.Terminal() || !m.Handled() {
			t.Errorf("Lookup(%q) = %+v, want the row for unknown types", typ, m)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	types := []string{"progress", "own", "withdraw", "tool_call", "init_ack", "result"}
	for i := range b.N {
		if Lookup(types[i%len(types)]).Role == Acknowledges && i < 0 {
			b.Fatal()
		}
	}
}
