package data_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/tools/browser"
)

// event returns an event of a run as JSON, in the form in which the page receives it.
func event(seq int, typ, data string) string {
	return fmt.Sprintf(`{"type":%q,"ts":"2025-01-01T00:00:00Z","host_id":"h","run_id":"r","seq":%d,"data":%s}`, typ, seq, data)
}

// events returns a JavaScript array with events of every type.
func events() string {
	all := []string{
		event(1, protocol.RunStarted, `{"tool":"codex","cwd":"/w","command":"codex","title":"T"}`),
		event(2, protocol.RunMeta, `{"title":"A","line":{"file":"a.conc","line":3}}`),
		event(3, protocol.RunOutput, `{"stream":"stdout","text":"10 %\r"}`),
		event(4, protocol.RunOutput, `{"stream":"stdout","text":"20 %\r"}`),
		event(5, protocol.RunOutput, `{"stream":"stdout","text":"\n\u001b[31mred"}`),
		event(6, protocol.RunOutput, `{"stream":"stderr","text":"oh"}`),
		event(7, protocol.ToolCall, `{"request_id":"t1","tool":"rpc.fs.write","actor":"web","args":{"path":"a"}}`),
		event(8, protocol.RunPermissionRequested, `{"request_id":"t1","reason":"permission","prompt":"Write a?","op_tool":"rpc.fs.write"}`),
		event(9, protocol.RunListen, `{"listen_id":"l1","host":"Worker","phase":"start"}`),
		event(10, protocol.RunPermissionResolved, `{"request_id":"t1","decision":"approve","by":"ann"}`),
		event(11, protocol.RunListen, `{"listen_id":"l1","host":"Worker","phase":"message","message_type":"progress","value":1}`),
		event(12, protocol.ToolResult, `{"request_id":"t1","tool":"rpc.fs.write","actor":"web","ok":true,"duration_ms":4}`),
		event(13, protocol.RunEmit, `{"channel":"draft","payload":{"a":1},"awaited":true,"request_id":"q2"}`),
		event(14, protocol.RunPermissionRequested, `{"request_id":"q2","reason":"choice","prompt":"Which?"}`),
		event(15, protocol.RunListen, `{"listen_id":"l1","host":"Worker","phase":"complete","duration_ms":9}`),
		event(16, protocol.RunInput, `{"actor":"cli","input_id":"q2","text_redacted":"y\n","text_sha256":""}`),
		event(17, protocol.RunInput, `{"actor":"cli","input_id":"i9","text_redacted":"hello","text_sha256":""}`),
		event(18, protocol.RunResized, `{"cols":90,"rows":20}`),
		event(25, protocol.RunGap, `{"from":19,"to":25,"reason":"spool_full"}`),
		event(26, "run.someday", `{"x":1}`),
		event(27, protocol.RunPermissionRequested, `{"request_id":"q2","reason":"choice","prompt":"Again?"}`),
		event(28, protocol.RunAwaitingInput, `{"reason":"prompt","prompt":"Name:"}`),
		event(29, protocol.RunExited, `{"exit_code":143,"signal":"SIGTERM","reason":"stopped"}`),
	}
	text := "["
	for i, e := range all {
		if i > 0 {
			text += ","
		}
		text += e
	}
	return text + "]"
}

const short = `globalThis.short = (x) => [x.kind, x.seq, x.title ?? "", x.text ?? "", x.data?.resolution?.decision ?? x.data?.state ?? "", x.data?.count ?? 0].join("|");`

// TestModules tests the modules that need no server. All tests use one page.
func TestModules(t *testing.T) {
	r := start(t)
	b := r.tab("")
	t.Run("thread", func(t *testing.T) { thread(t, b) })
	t.Run("rights", func(t *testing.T) { sameRights(t, b) })
	t.Run("next", func(t *testing.T) { next(t, b) })
	t.Run("clock", func(t *testing.T) {
		same(t, b, "[data.conn.value.clock_differs, Math.abs(data.now() - Date.now()) < 30e3]", `[false,true]`)
		b.Eval("clock.recordServerTime(new Date(Date.now() + 86400e3).toISOString(), Date.now())")
		same(t, b, "[data.conn.value.clock_differs, Math.round(data.conn.value.clock_ms / 3600e3), Math.round((data.now() - Date.now()) / 3600e3)]", `[true,24,24]`)
	})
}

// thread checks the items that a run's events, of every type, are converted to. Events that are
// loaded page by page, from the last page to the first, must result in the same items.
func thread(t *testing.T, b *browser.Tab) {
	b.Eval(short + "globalThis.all = " + events() + "; globalThis.fold = (es) => { const h = new History(() => null); for (const e of es) h.add(e); return h; }")
	same(t, b, "fold(all).items().map(short)", []string{
		"started|1|T|codex||0", "output|3||20 %\n\x1b[31mred||0", "output|6||oh||0", "tool|7|rpc.fs.write||done|0", "request|8|rpc.fs.write|Write a?|approve|0",
		"listen|9|Worker||complete|3", "emit|13|draft|||0", "request|14|choice|Which?|answered|0", "input|17||hello||0",
		"gap|25||Events 19 to 25 are missing: the machine ran out of space.||0", "other|26|run.someday|||0", "request|27|choice|Again?|withdrawn|0",
		"waiting|28||Name:||0", "exited|29||Stopped by SIGTERM with exit code 143.||0"})
	same(t, b, "[fold(all).meta(), fold(all).size()]", `[{"line":{"file":"a.conc","line":3},"title":"A"},{"cols":90,"rows":20}]`)
	// Divide the events into two or three pages in every possible way.
	same(t, b, `(() => {
		const whole = fold(all).items();
		const without = (items) => items.filter((x) => x.kind !== "output").map(short).join("\n") + items.filter((x) => x.kind === "output" && x.data.stream === "stderr").map((x) => x.text);
		const bad = [];
		for (let i = 1; i < all.length; i++) for (let j = 0; j <= i; j++) {
			const h = fold([]);
			for (const e of all.slice(i, -1)) h.add(e);
			h.prepend(all.slice(j, i));
			if (j) h.prepend(all.slice(0, j));
			h.add(all.at(-1));
			if (without(h.items()) !== without(whole)) bad.push([j, i, without(h.items())]);
		}
		return bad.slice(0, 2);
	})()`, `[]`)
	var types []string
	for _, m := range protocol.Messages {
		if m.Kind == protocol.Event {
			types = append(types, m.Type)
		}
	}
	want, err := json.Marshal(types)
	if err != nil {
		t.Fatal(err)
	}
	same(t, b, fmt.Sprintf("%s.filter((t) => !folds[t])", want), `[]`)
	// Names of properties that every JavaScript object has are also valid event types.
	same(t, b, fmt.Sprintf(`fold([%s, %s, %s]).items().map(short)`, event(1, "constructor", `{"request_id":"x","decision":"approve"}`), event(2, "__proto__", `{}`), event(3, protocol.RunGap, `{"from":2,"to":3,"reason":"constructor"}`)),
		[]string{"other|1|constructor|||0", "other|2|__proto__|||0", "gap|3||Events 2 to 3 are missing: constructor.||0"})
	same(t, b, `[["a\rb"], ["ab\r", "\r\ncd"], ["a\r\nb\r", "c"], ["x\n", "12\r1", "3\r"]].map((parts) => { const s = new Screen(); for (const p of parts) s.add(p); return s.text; })`,
		[]string{"b", "ab\ncd", "a\nc", "x\n13"})
}

// sameRights checks that the page's table of rights is equal to the server's.
func sameRights(t *testing.T, b *browser.Tab) {
	names := map[string]auth.Right{"read": auth.Read, "machines": auth.ReadMachines, "input": auth.Input, "decide": auth.Decide, "stop": auth.Stop, "rpc": auth.AskRun, "ask-machine": auth.AskMachine,
		"start": auth.AskMachine, "tokens": auth.ManageTokens, "users": auth.ManageUsers, "manage-machines": auth.ManageMachines, "audit": auth.ReadAudit, "metrics": auth.ReadMetrics}
	for name, right := range names {
		row := right.Info()
		want := []string{string(row.Role)}
		if row.Whole {
			want = append(want, "whole")
		}
		same(t, b, fmt.Sprintf("rights[%q]", name), want)
	}
}

// next checks the order of events. The page handles an event that follows the previous one of its
// run. If events are missing, it requests them, and after several attempts it continues without
// them.
func next(t *testing.T, b *browser.Tab) {
	b.Eval(`(async () => {
		globalThis.asked = [];
		globalThis.v = new View("run_x", (view) => asked.push(view.cursor), signal([]));
		globalThis.put = (...seqs) => { for (const seq of seqs) v.handleEvent({ type: "run.output", ts: "", run_id: "run_x", seq, data: { stream: "stdout", text: seq + " " } }); };
		globalThis.text = () => v.items.value.map((x) => x.text).join("");
	})()`)
	b.Eval("put(1, 2, 2, 3, 1)")
	b.Wait("text() === '1 2 3 '")
	b.Eval("put(5, 6, 7)")
	b.Wait("asked.length === 1")
	b.Eval("put(4, 5, 6); v.caughtUp()")
	b.Wait("text() === '1 2 3 4 5 6 ' && v.state.value.live")
	b.Eval("put(9)") // 7 and 8 never arrive
	b.Wait("asked.length === 2")
	b.Eval("put(9); v.caughtUp()")
	b.Wait("asked.length === 3")
	b.Eval("put(9); v.caughtUp()")
	b.Wait("asked.length === 4")
	b.Eval("put(9); v.caughtUp()")
	b.Wait("asked.length === 5")
	b.Eval("put(9, 10); v.caughtUp()")
	b.Wait("text() === '1 2 3 4 5 6 9 10 ' && v.state.value.live")
	same(t, b, "asked", `[3,6,6,6,6]`)
}
