package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/engine"
)

// TestHostMessages tests each type of host message in a program. A message that can be handled is
// tested with a handler, with a handler that is too slow, withdrawn by the host, without a handler
// (with and without a default), and under execute. Whenever the host waits, the message must be
// answered or withdrawn.
func TestHostMessages(t *testing.T) {
	var program, manifest strings.Builder
	program.WriteString("use std::time;\nhost W { connector: w, output_format: \"json\" }\nhost D { connector: d, output_format: \"json\" }\nfn main() {}\n" +
		"fn emitted(channel: String) -> Int { test_emits().filter(|e| e.channel == channel).len() }\n")
	manifest.WriteString("[hosts.w]\ncommand = \"none\"\n[hosts.d]\ncommand = \"none\"\nquestion_timeout = 1\n")
	for _, m := range hostmsg.Messages() {
		if line := fmt.Sprintf("%s = %q\n", m.Default, "by "+m.Default); m.Default != "" && !strings.Contains(manifest.String(), line) {
			manifest.WriteString(line)
		}
		if m.Sender == hostmsg.Host {
			played(&program, &m)
		}
	}
	p := compileTests(t, map[string]string{"main.conc": program.String(), "Concerto.toml": manifest.String()})
	results, _, err := p.RunTests(t.Context(), engine.TestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) < 4*len(hostmsg.Types((*hostmsg.Message).Handled)) {
		t.Errorf("ran %d tests, want at least four for each type of message that can be handled", len(results))
	}
	for _, r := range results {
		if r.Failure != nil {
			t.Errorf("%s: %s", r.Name, r.Failure.Message)
		}
	}
}

// played writes the tests for one type of message.
func played(w *strings.Builder, m *hostmsg.Message) {
	test := func(name, host, between, handlers, then string) {
		fmt.Fprintf(w, `@test fn %s_%s() {
    mock %s { messages: [{ type: %q, id: "m1", message: "it" }%s] }
    let mut got: Array<Any> = [];
    let r = listen %[3]s.execute("go") { %[6]s };
    %[7]s
}
`, m.Type, name, host, m.Type, between, handlers, then)
	}
	const result = `, { type: "result", text: "done" }`
	replied := func(host, answer string) string {
		return fmt.Sprintf("assert_eq(r?.text, \"done\"); assert_eq(mock_replies(%s), [%s]);", host, answer)
	}
	const others = `"own" => |m| { got.push(m); }`
	switch {
	case m.Terminal():
		test("ends", "W", "", others, `assert_eq(got, []); assert_eq(mock_replies(W), []); assert_eq(r.is_ok(), `+fmt.Sprint(m.Role == hostmsg.Succeeds)+");")
		return
	case !m.Handled():
		test("is_the_protocols", "W", result, others, replied("W", "")+"assert_eq(got, []);")
		return
	}
	handler := fmt.Sprintf("%q => |m| { got.push(m.id); \"answer\" }", m.Type)
	slow := fmt.Sprintf("%q => |m| { time::sleep(5000); \"late\" }", m.Type)
	test("handled", "W", result, handler, replied("W", `"answer"`)+`assert_eq(got, ["m1"]);`)

	// Tests without a handler: W has no defaults, D has defaults.
	failed := func(problem string) string { return fmt.Sprintf("{ error: %q }", problem) }
	none, byDefault, late := "", "", `"late"`
	if m.Waits() {
		problem := "nothing handles " + m.Type + " messages"
		if m.ByPerson() {
			problem += ", and no person can be asked"
		}
		none = failed(problem)
		byDefault = none
	}
	if m.Timed {
		late = failed(m.Type + " timed out after 1 second")
	}
	if m.Default != "" {
		byDefault = fmt.Sprintf("%q", "by "+m.Default)
		late = byDefault
	}
	check := fmt.Sprintf("assert_eq(emitted(\"listen:unhandled\"), %d);", map[bool]int{true: 0, false: 1}[m.Unhandled == hostmsg.Gathered || m.Unhandled == hostmsg.Removed])
	test("unhandled", "W", result, others, replied("W", none)+check)
	test("unhandled_with_defaults", "D", result, others, replied("D", byDefault)+check)
	test("too_slow", "D", result, slow, replied("D", late))
	for _, back := range hostmsg.Types(func(b *hostmsg.Message) bool { return m.Waits() && b.Role == hostmsg.Withdraws }) {
		test("taken_back_by_"+back, "W", fmt.Sprintf(", { wait_ms: 10 }, { type: %q, id: \"m1\" }", back)+result, slow, replied("W", ""))
	}
	if m.Channel == "" {
		return
	}
	answer, answers := "", ""
	if m.Waits() {
		answers, answer = fmt.Sprintf("mock_answer(%q, \"by the application\");", m.Channel), `"by the application"`
	}
	fmt.Fprintf(w, `@test fn %s_executed() {
    mock W { messages: [{ type: %q, id: "m1" }, { type: "result", text: "done" }] }
    %s
    assert_eq(W.execute("go")?, "done");
    assert_eq(mock_replies(W), [%s]);
    assert_eq(emitted(%q), 1);
}
`, m.Type, m.Type, answers, answer, m.Channel)
}
