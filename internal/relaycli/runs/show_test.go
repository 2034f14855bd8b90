package runs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestShowRunWithoutTerminal displays events of a run. For a run without a terminal, each event
// must be described in one line, which does not control the user's terminal. For a run with a
// terminal, events other than output must not be described.
func TestShowRunWithoutTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, data, out, err string }{
		{protocol.RunOutput, `{"stream":"stdout","text":"a\nb"}`, "a\nb", ""},
		{protocol.RunOutput, `{"stream":"stderr","text":"a\n"}`, "", "a\n"},
		{protocol.RunEmit, `{"channel":"note","payload":"two\nlines\u001b[2J","awaited":false}`, "[note] two\nlines\\u{1b}[2J\n", ""},
		{protocol.RunEmit, `{"channel":"n\n","payload":{"a":[1]},"awaited":true}`, "[n ] {\"a\":[1]}\n", ""},
		{protocol.RunEmit, `{"channel":"when","payload":"?","awaited":true,"request_id":"q1"}`, "", ""},
		{protocol.RunPermissionRequested, `{"request_id":"q1","reason":"choice","prompt":"When?","from":{"kind":"emit","channel":"when"},"questions":[{"id":"answer","question":"When?","kind":"choice","options":[{"value":"now"}]}]}`,
			"", "[when] asks: When?  answer: \"now\"\n  concerto-relay approve run_a q1 --answer JSON --server http://x\n"},
		{protocol.RunPermissionRequested, `{"request_id":"q2","reason":"permission","prompt":"May it?","op_tool":"rm","op_args":{"path":"/"},"from":{"kind":"approval","host":"Coder"}}`,
			"", "Coder asks: May it?\n  rm {\"path\":\"/\"}\n  concerto-relay approve run_a q2 --server http://x\n"},
		{protocol.RunPermissionRequested, `{"request_id":"q3","reason":"permission","prompt":"Run: echo a\nrm -rf x\u202e","redacted":true}`,
			"", "asks: Run: echo a⏎rm -rf x\\u{202e} (secrets are redacted)\n  concerto-relay approve run_a q3 --server http://x\n"},
		{protocol.RunPermissionRequested, `{"request_id":"q4","reason":"permission","prompt":"` + strings.Repeat("x", 1000) + `"}`,
			"", "asks: " + strings.Repeat("x", 499) + "… (501 more characters)\n  concerto-relay approve run_a q4 --server http://x\n"},
		{protocol.RunPermissionRequested, `{"request_id":"q5","reason":"permission","prompt":"rm\u200b -rf\u00a0\ufeffx\u2800","op_tool":"ba\u2060sh","op_args":{"command":"a` + "\u200c" + `b"},"from":{"kind":"approval","host":"Co\u00adder"}}`,
			"", "Co\\u{ad}der asks: rm\\u{200b} -rf\\u{a0}\\u{feff}x\\u{2800}\n  ba\\u{2060}sh {\"command\":\"a\\u{200c}b\"}\n  concerto-relay approve run_a q5 --server http://x\n"},
		{protocol.RunPermissionResolved, `{"request_id":"q1","decision":"approve","by":"ann","actor":"web"}`, "", "q1: approved by ann\n"},
		{protocol.RunPermissionResolved, `{"request_id":"q1","decision":"answer","answer":"No","by":"ann"}`, "", "q1: answered \"No\" by ann\n"},
		{protocol.RunPermissionResolved, `{"request_id":"q1","decision":"answer","by":"ann"}`, "", "q1: answered by ann\n"},
		{protocol.RunPermissionResolved, `{"request_id":"q1","decision":"deny","actor":"cli","reason":"no"}`, "", "q1: denied by cli: no\n"},
		{protocol.RunPermissionResolved, `{"request_id":"q1","decision":"withdrawn"}`, "", "q1: withdrawn\n"},
		{protocol.RunListen, `{"listen_id":"x1","host":"Coder","phase":"start"}`, "", "Coder begins\n"},
		{protocol.RunListen, `{"listen_id":"x1","host":"Coder","phase":"message","message_type":"progress","value":{"percent":50}}`, "", "Coder progress {\"percent\":50}\n"},
		{protocol.RunListen, `{"listen_id":"x1","host":"Coder","phase":"reply","message_type":"question","value":"tabs"}`, "", "Coder is answered: tabs\n"},
		{protocol.RunListen, `{"listen_id":"x1","host":"Coder","phase":"reply","error":"denied"}`, "", "Coder is answered: error: denied\n"},
		{protocol.RunListen, `{"listen_id":"x1","host":"Coder","phase":"complete","duration_ms":1500}`, "", "Coder is done (1.5s)\n"},
		{protocol.RunListen, `{"listen_id":"x1","host":"Coder","phase":"error","error":"it broke"}`, "", "Coder failed: it broke\n"},
		{protocol.RunGap, `{"from":3,"to":9,"reason":"spool_full"}`, "", "concerto-relay: events 3 to 9 of the run will never come: spool_full\n"},
		{protocol.RunMeta, `{"title":"x"}`, "", ""},
		{"run.strange", `{}`, "", ""},
	} {
		var out, errs bytes.Buffer
		x := &attachment{Console: &console.Console{Stdout: &out, Stderr: &errs}, t: &console.TTY{}, run: "run_a", flags: " --server http://x"}
		show := func(typ, data string) {
			e := protocol.Envelope{Type: typ, TS: time.Now().Format(time.RFC3339), RunID: "run_a", Data: []byte(data)}
			if err := x.show(&e); err != nil {
				t.Errorf("show of %s %s: %v", typ, data, err)
			}
		}
		show(protocol.RunStarted, `{"tool":"concerto","cwd":"/","command":"x","source":"concerto"}`)
		show(c.typ, c.data)
		if out.String() != c.out || errs.String() != c.err {
			t.Errorf("output of %s %s = %q, stderr = %q; want %q and %q", c.typ, c.data, out.String(), errs.String(), c.out, c.err)
		}
		if c.typ == protocol.RunOutput || c.typ == protocol.RunGap {
			continue
		}
		out.Reset()
		errs.Reset()
		show(protocol.RunStarted, `{"tool":"bash","cwd":"/","command":"x"}`)
		show(c.typ, c.data)
		if out.Len()+errs.Len() > 0 {
			t.Errorf("output of %s on a terminal = %q %q, want none", c.typ, out.String(), errs.String())
		}
	}
}
