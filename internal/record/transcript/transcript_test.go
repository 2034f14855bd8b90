package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// kinds is a part of the adapters' tables.
var kinds = Kinds{
	ClaudeInside: []string{"AskUserQuestion", "ExitPlanMode", "StructuredOutput", "SendMessage", "TaskCreate", "TaskUpdate", "TaskStop"},
	Claude: func(tool string) string {
		if kind := map[string]string{"Bash": "execute", "Read": "read", "ToolSearch": "search", "Agent": "think", "Write": "edit", "Edit": "edit", "WebFetch": "fetch"}[tool]; kind != "" {
			return kind
		}
		return "other"
	},
	CodexCommand: func(actions []string) string {
		if slices.Equal(actions, []string{"read"}) {
			return "read"
		}
		return "execute"
	},
}

// compared is the result of a comparison: the calls by class, and the problems, as texts.
type compared struct {
	Result
	calls    map[Class][]string
	problems []string
}

func compare(t *testing.T, ledger, dir string, vendors, sessions []string) compared {
	t.Helper()
	text, err := os.Open(ledger)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	decisions, err := ReadDecisions(text, "ledger")
	if err != nil {
		t.Fatal(err)
	}
	if sessions == nil {
		sessions = decisions.Sessions
	}
	wanted := map[string]bool{}
	for _, id := range sessions {
		wanted[id] = true
	}
	c := compared{calls: map[Class][]string{}}
	problem := func(p Problem) {
		c.problems = append(c.problems, fmt.Sprintf("%s:%d: %s", filepath.Base(p.File), p.Line, p.Why))
	}
	var files []File
	for _, vendor := range vendors {
		found, err := Find(vendor, filepath.Join(dir, vendor), wanted, problem)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	c.Result, err = Reconcile(decisions, files, Options{Kinds: kinds, Unasked: []string{"read", "search", "think"}, Problem: problem,
		Each: func(class Class, x *Call, seq int64) {
			c.calls[class] = append(c.calls[class], fmt.Sprintf("%s %s %s", x.Session[max(0, len(x.Session)-3):], x.ID, x.Tool))
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// recordedSessions returns the sessions of the recorded transcripts of Claude Code.
func recordedSessions(t *testing.T) (ids []string) {
	t.Helper()
	all, err := filepath.Glob("testdata/claude-code/*/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		ids = append(ids, strings.TrimSuffix(filepath.Base(file), ".jsonl"))
	}
	return ids
}

// TestClaude compares transcripts of Claude Code 2.1.332 with the ledger of the same runs.
func TestClaude(t *testing.T) {
	c := compare(t, "testdata/claude.ledger", "testdata", []string{"claude-code"}, recordedSessions(t))
	want := map[Class][]string{
		// allowed; allowed with an edit; for the session and later; edits of files with
		// absolute and relative paths; a command that fails; parallel calls; a question
		Decided: {"001 toolu_1 Bash", "021 toolu_1 Bash", "031 t1 Bash", "031 t3 Bash", "047 t2 Edit", "047 t3 Write", "047 t5 WebFetch", "047 t7 WebFetch", "047 t8 Skill",
			"082 t6 Bash", "121 t1 Bash", "121 t2 Bash", "135 toolu_1 Bash", "163 toolu_2 AskUserQuestion"},
		Own:     {"153 call_1 mcp__concerto__Calc_add"},
		Granted: {"031 t2 Bash"},
		Unasked: {"047 t1 Read", "047 t6 ToolSearch", "082 t3 Read", "082 t10 ToolSearch", "121 t3 Read", "135 toolu_4 Agent"},
		// commands that the agent considers harmless; the mode acceptEdits; the user's own rules
		Bypassed: {"082 t1 Bash", "082 t2 Bash", "173 t2 Write", "173 t1 Bash", "186 t1 Bash"},
	}
	if d := cmp.Diff(want, c.calls); d != "" {
		t.Errorf("calls differ (-want +got):\n%s", d)
	}
	if len(c.problems) > 0 || c.NoResult != 0 || c.NoCall != 0 {
		t.Errorf("problems %q, %d calls without a result, %d decisions without a call, want none", c.problems, c.NoResult, c.NoCall)
	}
}

// TestCodex compares transcripts of Codex 0.171.0 with the ledger of the same runs. In the recorded
// run with a subagent, the decision about its command was recorded as undelivered.
func TestCodex(t *testing.T) {
	c := compare(t, "testdata/codex.ledger", "testdata", []string{"codex"}, nil)
	want := map[Class][]string{
		// allowed; always, later a command that a rule covers, and one of which it covers a part;
		// changes of files; quotes, directories and shells; a command that fails; input to a
		// terminal; a question
		Decided: {"199 call_1 command", "211 c1 command", "211 c3 command", "217 call_3 fileChange", "221 c1 fileChange", "231 c1 command", "231 c2 command", "231 c3 command",
			"231 c4 command", "231 c5 command", "242 c1 command", "242 c2 command", "242 c3 command", "242 c4 command", "249 c1 command", "254 c3 command", "263 call_2 request_user_input"},
		Granted:     {"211 c2 command"},
		Unasked:     {"225 c2 view_image", "225 c3 get_goal", "231 c7 view_image", "254 c1 spawn_agent"},
		Undelivered: {"254 c2 command"},
	}
	if d := cmp.Diff(want, c.calls); d != "" {
		t.Errorf("calls differ (-want +got):\n%s", d)
	}
	c = compare(t, "testdata/codex.ledger", "testdata", []string{"codex"}, []string{"00000000-0000-4000-8000-000000000267", "00000000-0000-4000-8000-000000000271"})
	want = map[Class][]string{Own: {"267 call_1 Calc_add"}, Bypassed: {"271 c1 command"}} // the program's tool; the policy never
	if d := cmp.Diff(want, c.calls); d != "" {
		t.Errorf("calls of sessions without decisions differ (-want +got):\n%s", d)
	}
}

// TestStates checks what each form of the end of a call means.
func TestStates(t *testing.T) {
	claude := func(result, more string) string {
		return `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"Bash","input":{}}]}}` + "\n" +
			`{"type":"user","uuid":"u","message":{"content":[{"type":"tool_result","tool_use_id":"c",` + result + `}]}` + more + "}\n"
	}
	codex := func(name, more string) string {
		return `{"type":"response_item","payload":{"type":"function_call","name":"` + name + `","arguments":"{}","call_id":"c"}}` + "\n" + more
	}
	result := func(text string) string {
		return `{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":` + text + "}}\n"
	}
	item := func(members string) string {
		return `{"type":"event_msg","payload":{"type":"item_completed","item":{"id":"c",` + members + "}}}\n"
	}
	accept := `,"permissionDecision":{"decision":"accept","source":"config"}`
	for _, c := range []struct {
		vendor, text string
		want         []state
		problems     int
	}{
		{"claude-code", claude(`"content":"x"`, accept), []state{executed}, 0},
		{"claude-code", claude(`"content":"<tool_use_error>x","is_error":true`, accept), []state{executed}, 0},
		{"claude-code", claude(`"content":"x"`, ""), []state{executed}, 0},
		{"claude-code", claude(`"content":"Exit code 1","is_error":true`, ""), []state{executed}, 0},
		{"claude-code", claude(`"content":"<tool_use_error>x","is_error":true`, ""), []state{refused}, 0},
		{"claude-code", claude(`"content":"\u003ctool_use_error\u003ex","is_error":true`, ""), []state{refused}, 0},
		{"claude-code", claude(`"content":"<tool_use_error>x"`, ""), []state{executed}, 0},
		{"claude-code", claude(`"content":[{"type":"text","text":"<tool_use_error>"}],"is_error":true`, ""), []state{executed}, 0},
		{"claude-code", claude(`"content":"x","is_error":true`, `,"toolDenialBeforeRun":true`), []state{refused}, 0},
		{"claude-code", claude(`"content":"x"`, `,"permissionDecision":{"decision":"reject","source":"hook"}`), []state{refused}, 0},
		{"claude-code", claude(`"content":"x"`, accept) + claude(`"content":"x"`, accept), []state{executed}, 0}, // a repeated line
		{"claude-code", strings.SplitAfter(claude("", ""), "\n")[0], []state{unfinished}, 0},
		{"claude-code", strings.SplitAfter(claude(`"content":"x"`, accept), "\n")[1], nil, 1},
		{"claude-code", `{"type":"assistant","message":{"content":[{"type":"server_tool_use","id":"c","name":"web_search"},{"type":"web_search_tool_result","tool_use_id":"c"}]}}` + "\n", []state{executed}, 0},
		{"claude-code", `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c"}]}}` + "\n", nil, 1},
		{"claude-code", `{"type":"api-request-blob","message":"x"}` + "\n", nil, 0},
		{"codex", codex("exec_command", item(`"type":"CommandExecution","status":"failed"`)+result(`"x"`)), []state{executed}, 0},
		{"codex", codex("exec_command", result(`"Process running"`)+item(`"type":"CommandExecution","status":"failed"`)), []state{executed}, 0},
		{"codex", codex("exec_command", item(`"type":"FileChange","status":"declined"`)+result(`"patch rejected by user"`)), []state{refused}, 0},
		{"codex", codex("exec_command", result(`"exec_command failed: rejected"`)), []state{refused}, 0},
		{"codex", codex("exec_command", result(`"Chunk ID: 1\nexec_command failed"`)), []state{executed}, 0},
		{"codex", codex("exec_command", result(`[{"type":"text","text":"exec_command failed"}]`)), []state{executed}, 0},
		{"codex", codex("made_up", result(`"unsupported call: made_up"`)), []state{refused}, 0},
		{"codex", codex("exec_command", ""), []state{unfinished}, 0},
		{"codex", codex("exec_command", result(`"a"`)) + codex("exec_command", result(`"b"`)), []state{executed, executed}, 0},
		{"codex", item(`"type":"McpToolCall","server":"s","tool":"t","arguments":{}`), []state{executed}, 0},
		{"codex", `{"type":"response_item","payload":{"type":"web_search_call","action":{"query":"q"}}}` + "\n", []state{executed}, 0},
		{"codex", `{"type":"response_item","payload":{"type":"made_up_call","call_id":"c"}}` + "\n", []state{executed}, 0},
		{"codex", item(`"type":"MadeUp"`), nil, 1},
		{"codex", item(`"type":"Reasoning"`), nil, 0},
		{"codex", result(`"x"`), nil, 1},
		{"codex", `{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution"}}}` + "\n", nil, 1},
		{"codex", `{"type":"event_msg","payload":{"type":"item_completed","item":[]}}` + "\n", nil, 1},
		{"codex", `{"type":"event_msg","payload":{"type":"error","item":[]}}` + "\n", nil, 0},
	} {
		read := readClaude
		if c.vendor == "codex" {
			read = readCodex
		}
		var got []state
		problems := 0
		if err := read(strings.NewReader(c.text), File{}, kinds, func(x Call) { got = append(got, x.state) }, func(int, error) { problems++ }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) || problems != c.problems {
			t.Errorf("%s: states = %v, %d problems, want %v, %d:\n%s", c.vendor, got, problems, c.want, c.problems, c.text)
		}
	}
}

// TestGrants checks that only calls which a lasting decision covers are granted.
func TestGrants(t *testing.T) {
	at := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	session := approved{session: "S", scope: "session", tool: "command", time: at, sum: decision.Hash(commandArgs("make a", "/"))}
	always := session
	always.scope, always.prefix = "always", []string{"make", "a"}
	files := approved{session: "S", scope: "session", tool: "fileChange", time: at, paths: []string{"/a", "/b"}}
	claude := approved{session: "S", scope: "session", tool: "Bash", time: at}
	call := func(change func(*Call)) Call {
		c := Call{Session: "S", Tool: "command", Args: commandArgs("make a", "/"), Time: at.Add(time.Second), vendor: "codex", silent: true}
		change(&c)
		c.sum = decision.Hash(c.Args)
		return c
	}
	command := func(text string) func(*Call) { return func(c *Call) { c.Args = commandArgs(text, "/") } }
	for name, c := range map[string]struct {
		x    approved
		c    Call
		want bool
	}{
		"the same command":            {session, call(func(*Call) {}), true},
		"another command":             {session, call(command("make b")), false},
		"another session":             {session, call(func(c *Call) { c.Session = "T" }), false},
		"before the decision":         {session, call(func(c *Call) { c.Time = at.Add(-time.Second) }), false},
		"at an unknown time":          {session, call(func(c *Call) { c.Time = time.Time{} }), false},
		"a prefix":                    {always, call(command("make a -n")), true},
		"a prefix in another session": {always, call(func(c *Call) { c.Session = "T" }), true},
		"a prefix of a word":          {always, call(command("make ab")), false},
		"more than a prefix":          {always, call(command("make a && rm -rf /")), false},
		"an expansion":                {always, call(command("make a $(rm x)")), false},
		"the same files":              {files, call(func(c *Call) { c.Tool, c.Paths = "fileChange", []string{"/b"} }), true},
		"more files":                  {files, call(func(c *Call) { c.Tool, c.Paths = "fileChange", []string{"/b", "/c"} }), false},
		"a rule": {claude, call(func(c *Call) {
			c.Tool, c.vendor, c.silent, c.byRule, c.isUser = "Bash", "claude-code", false, true, true
		}), true},
		"a rule of another tool": {claude, call(func(c *Call) {
			c.Tool, c.vendor, c.silent, c.byRule, c.isUser = "Write", "claude-code", false, true, true
		}), false},
		"the mode": {claude, call(func(c *Call) { c.Tool, c.vendor, c.silent = "Bash", "claude-code", false }), false},
	} {
		if got := c.x.grants(&c.c); got != c.want {
			t.Errorf("%s: granted = %v, want %v", name, got, c.want)
		}
		c.x.undelivered = true
		if c.x.grants(&c.c) {
			t.Errorf("%s: granted by a decision that did not arrive", name)
		}
	}
}

// TestMarks checks that a mark for a secret equals any text, and that the rest is compared.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		shown, actual string
		want          bool
	}{
		{`{"a":"x «secret:K» y"}`, `{"a":"x t0ken y"}`, true}, {`{"a":"«redacted»"}`, `{"a":""}`, true}, {`{"a":"«secret:K»,«secret:L:json»"}`, `{"a":"1,2"}`, true},
		{`{"a":"x «secret:K» y"}`, `{"a":"x t0ken z"}`, false}, {`{"a":"x «secret:K» x"}`, `{"a":"x "}`, false}, {`{"a":"«secret:K»,«secret:L»"}`, `{"a":"12"}`, false},
		{`{"a":"«secret:K»","b":1}`, `{"a":"x"}`, false}, {`{"a":"«secret:K»"}`, `{"a":["x"]}`, false}, {`{"a":["«secret:K»",1]}`, `{"a":["x",1]}`, true}, {`{"a":["«secret:K»",1]}`, `{"a":["x",2]}`, false},
	} {
		r := record{Answer: json.RawMessage(`"yes"`)}
		r.Asked.Tool, r.Asked.Args = "Bash", json.RawMessage(c.shown)
		x := r.decision("approval")
		call := Call{Tool: "Bash", Args: json.RawMessage(c.actual), sum: decision.Hash([]byte(c.actual))}
		if got := x.class(&call) == Decided; got != c.want {
			t.Errorf("%s covers %s: %v, want %v", c.shown, c.actual, got, c.want)
		}
	}
}

// TestGuarded compares transcripts with the ledgers of guarded sessions.
func TestGuarded(t *testing.T) {
	w := newWorld(t, 1)
	decide := func(host, session, call, tool string, args json.RawMessage, event, verdict string) {
		w.now()
		x := audit.Record{Run: session, Kind: "guard", Actor: audit.Actor{Type: "rule", Name: "f"}, At: w.at, Subject: object("effect", 0, "host", host, "id", call),
			Data: object("session", session, "call", call, "tool", tool, "decision", verdict, "args_sha256", decision.Hash(args), "asked", object("args", args, "cwd", "/repo", "event", event))}
		if _, err := w.log.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	const file = "claude-code/-repo/s-1.jsonl"
	command := func(text string) json.RawMessage { return object("command", text) }
	for i, c := range []struct{ judged, ran, event, verdict string }{
		{"make", "make", "PreToolUse", "allow"},
		{"make", "make", "PreToolUse", "ask"},
		{"make", "make", "PreToolUse", "pass"},
		{"make", "make", "PreToolUse", "deny"},
		{"make", "rm x", "PreToolUse", "allow"},
		{"make", "make", "PermissionRequest", "allow"}, // no decision before the call
		{"", "make", "", ""},
	} {
		id := fmt.Sprint("t", i)
		if c.judged != "" {
			decide("claude-code", "s-1", id, "Bash", command(c.judged), c.event, c.verdict)
		}
		w.claudeCall(file, id, "Bash", command(c.ran), json.RawMessage(`"ok"`), object("outcome", "allow", "source", "hook"))
	}
	w.write(t)
	got := compare(t, filepath.Join(w.dir, "ledger"), w.dir, []string{"claude-code"}, nil)
	want := []string{"bypassed s-1 t5 Bash", "bypassed s-1 t6 Bash", "denied s-1 t3 Bash", "different s-1 t4 Bash"}
	if listed := got.listed(); !slices.Equal(listed, want) || got.Classes[Decided] != 3 {
		t.Errorf("%q, %d decided, problems %q, want %q", listed, got.Classes[Decided], got.problems, want)
	}
}

// world is a generated ledger with transcripts.
type world struct {
	dir     string
	log     *audit.Log
	r       *rand.Rand
	at      time.Time
	files   map[string]*bytes.Buffer
	planted []string // what Reconcile must list
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), r: rand.New(rand.NewPCG(seed, 0)), at: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC), files: map[string]*bytes.Buffer{}}
	var err error
	if w.log, err = audit.Open(filepath.Join(w.dir, "ledger"), audit.Options{What: "ledger", Bare: true}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) now() string {
	w.at = w.at.Add(time.Millisecond)
	return w.at.Format("2006-01-02T15:04:05.000Z")
}

func (w *world) file(name string) *bytes.Buffer {
	if w.files[name] == nil {
		w.files[name] = &bytes.Buffer{}
	}
	return w.files[name]
}

func object(members ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return text
}

// decide adds a decision to the ledger.
func (w *world) decide(t *testing.T, session, call, tool string, args json.RawMessage, answer any) {
	t.Helper()
	w.now()
	x := audit.Record{Run: "r", Kind: "approval", Actor: audit.Actor{Type: "rule", Name: "f"}, At: w.at, Subject: object("effect", 1, "host", "Coder", "id", "1"),
		Data: object("session", session, "call", call, "answer", answer, "asked", object("tool", tool, "args", args, "options", []string{"once", "session", "always", "deny"}))}
	if _, err := w.log.Append(x); err != nil {
		t.Fatal(err)
	}
}

// claudeCall writes a call and its result to a transcript of Claude Code.
func (w *world) claudeCall(file, id, tool string, input json.RawMessage, result json.RawMessage, decision any) {
	f := w.file(file)
	fmt.Fprintf(f, "%s\n", object("type", "assistant", "uuid", "u-"+id, "timestamp", w.now(), "message", object("content", []any{object("type", "tool_use", "id", id, "name", tool, "input", input)})))
	fmt.Fprintf(f, "%s\n", object("type", "user", "uuid", "r-"+id, "timestamp", w.now(), "permissionDecision", decision, "message",
		object("content", []any{object("type", "tool_result", "tool_use_id", id, "content", result)})))
}

func (w *world) codexCall(file, id, command string, status string) {
	f := w.file(file)
	fmt.Fprintf(f, "%s\n", object("type", "response_item", "timestamp", w.now(), "payload", object("type", "function_call", "name", "exec_command", "call_id", id, "arguments", string(object("cmd", command)))))
	if status != "" {
		fmt.Fprintf(f, "%s\n", object("type", "event_msg", "timestamp", w.now(), "payload", object("type", "item_completed", "item",
			object("type", "CommandExecution", "id", id, "status", status, "command", []string{"/bin/bash", "-lc", command}, "cwd", "file:///repo", "parsed_cmd", []any{object("type", "unknown")}))))
	}
	output := "Chunk ID: 1"
	if status == "" {
		output = "exec_command failed: rejected"
	}
	fmt.Fprintf(f, "%s\n", object("type", "response_item", "timestamp", w.now(), "payload", object("type", "function_call_output", "call_id", id, "output", output)))
}

// The bypasses that are planted.
const (
	autoMode = iota
	hook
	background
	denied
	edited
	removed
	numPlanted
)

var (
	byUser = object("decision", "accept", "source", "user_temporary", "grantScope", "once")
	output = json.RawMessage(`"done"`)
)

// add adds a call to a session, a bypass if plant is not -1.
func (w *world) add(t *testing.T, n, i, plant int) {
	session, call := fmt.Sprintf("%08d-0000-4000-8000-000000000000", n), fmt.Sprintf("call_%d_%d", n, i)
	command := fmt.Sprintf("make target-%d", w.r.IntN(1000))
	class, tool := Bypassed, "Bash"
	switch plant {
	case denied:
		class = Denied
	case edited:
		class = Different
	}
	if n%2 == 0 {
		input := object("command", command, "description", "d")
		file := fmt.Sprintf("claude-code/-repo/%s.jsonl", session)
		switch plant {
		case -1:
			w.claudeFine(t, file, session, call, input)
			return
		case autoMode:
			w.claudeCall(file, call, tool, input, output, object("decision", "accept", "source", "config", "reasonType", "mode"))
		case hook:
			w.claudeCall(file, call, tool, input, output, object("decision", "accept", "source", "hook"))
		case background:
			w.claudeCall(fmt.Sprintf("claude-code/-repo/%s/subagents/agent-a.jsonl", session), call, tool, input, output, nil)
		case denied:
			w.decide(t, session, call, tool, input, "not today")
			w.claudeCall(file, call, tool, input, output, byUser)
		case edited:
			w.decide(t, session, call, tool, object("command", command+" -n", "description", "d"), "yes")
			w.claudeCall(file, call, tool, input, output, byUser)
		case removed:
			w.claudeCall(file, call, tool, input, output, byUser)
		}
	} else {
		tool = "command"
		args := object("command", command, "cwd", "/repo")
		file := fmt.Sprintf("codex/2026/01/05/rollout-2026-01-05T10-00-00-%s.jsonl", session)
		switch plant {
		case -1:
			w.codexFine(t, file, session, call, command, args)
			return
		case background:
			file = fmt.Sprintf("codex/2026/01/05/rollout-2026-01-05T10-00-00-thread%d.jsonl", n)
			if w.files[file] == nil {
				fmt.Fprintf(w.file(file), "%s\n", object("type", "session_meta", "payload", object("id", fmt.Sprintf("thread%d", n), "session_id", session)))
			}
		case denied:
			w.decide(t, session, call, tool, args, false)
		case edited:
			w.decide(t, session, call, tool, object("command", command, "cwd", "/"), true)
		}
		w.codexCall(file, call, command, "completed")
	}
	w.planted = append(w.planted, fmt.Sprintf("%s %s %s %s", class, session[len(session)-3:], call, tool))
}

// claudeFine adds a call that is covered, or was not executed.
func (w *world) claudeFine(t *testing.T, file, session, call string, input json.RawMessage) {
	switch w.r.IntN(20) {
	case 0:
		w.claudeCall(file, call, "Read", object("file_path", "/repo/a"), output, object("decision", "accept", "source", "config", "reasonType", "mode"))
	case 1:
		w.claudeCall(file, call, "mcp__concerto__add", object("a", 1), output, byUser)
	case 2:
		w.decide(t, session, call, "Bash", input, "no")
		w.claudeCall(file, call, "Bash", input, json.RawMessage(`"no"`), object("decision", "reject", "source", "user_reject"))
	case 3:
		w.decide(t, session, call, "Bash", input, map[string]any{"decision": "allow", "input": map[string]any{"command": "true"}})
		w.claudeCall(file, call, "Bash", input, output, byUser)
	case 4:
		w.decide(t, session, call, "Bash", input, "session")
		w.claudeCall(file, call, "Bash", input, output, byUser)
		w.claudeCall(file, call+"_again", "Bash", input, output, object("decision", "accept", "source", "user_temporary", "reasonType", "rule"))
	case 5:
		f := w.file(file)
		fmt.Fprintf(f, "%s\n", object("type", "assistant", "message", object("content", []any{object("type", "tool_use", "id", call, "name", "Nope", "input", object())})))
		fmt.Fprintf(f, "%s\n", object("type", "user", "message", object("content", []any{object("type", "tool_result", "tool_use_id", call, "is_error", true, "content", "<tool_use_error>No such tool")})))
	case 6:
		w.decide(t, session, call, "Bash", object("command", "curl -H «secret:KEY»", "description", "d"), "yes")
		w.claudeCall(file, call, "Bash", object("command", "curl -H t0ken", "description", "d"), output, byUser)
	default:
		w.decide(t, session, call, "Bash", input, "yes")
		w.claudeCall(file, call, "Bash", input, output, byUser)
	}
}

func (w *world) codexFine(t *testing.T, file, session, call, command string, args json.RawMessage) {
	switch w.r.IntN(20) {
	case 0:
		w.decide(t, session, call, "command", args, "no")
		w.codexCall(file, call, command, "")
	case 1:
		w.decide(t, session, call, "command", args, "no")
		w.codexCall(file, call, command, "declined")
	case 2:
		w.decide(t, session, call, "command", args, "session")
		w.codexCall(file, call, command, "completed")
		w.codexCall(file, call+"_again", command, "completed")
	case 3: // Codex is denied what it cannot execute
		w.decide(t, session, call, "command", args, map[string]any{"decision": "allow", "input": map[string]any{"command": "true"}})
		w.codexCall(file, call, command, "")
	default:
		w.decide(t, session, call, "command", args, "yes")
		w.codexCall(file, call, command, "completed")
	}
}

// write writes the transcripts.
func (w *world) write(t *testing.T) {
	t.Helper()
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range w.files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// listed returns the calls that are not covered.
func (c *compared) listed() (all []string) {
	for class, calls := range c.calls {
		for _, x := range calls {
			if !class.IsCovered() {
				all = append(all, string(class)+" "+x)
			}
		}
	}
	slices.Sort(all)
	return all
}

// bypasses returns a world of 10,000 calls in 1,000 sessions, of which 200 are bypasses.
func bypasses(t *testing.T) (w *world, sessions []string) {
	t.Helper()
	w = newWorld(t, 1)
	plant := map[int]int{}
	for i, n := range w.r.Perm(10_000)[:200] {
		plant[n] = i % numPlanted
	}
	for n := range 10_000 {
		what, ok := plant[n]
		if !ok {
			what = -1
		}
		w.add(t, n/10, n%10, what)
	}
	for n := range 1000 {
		sessions = append(sessions, fmt.Sprintf("%08d-0000-4000-8000-000000000000", n))
	}
	slices.Sort(w.planted)
	return w, sessions
}

// TestBypasses checks that exactly the planted bypasses among 10,000 calls are listed.
func TestBypasses(t *testing.T) {
	randtest.InOneGoroutine(t)
	w, sessions := bypasses(t)
	w.write(t)
	began := time.Now()
	c := compare(t, filepath.Join(w.dir, "ledger"), w.dir, Vendors, sessions)
	t.Logf("compared in %v", time.Since(began))
	if d := cmp.Diff(w.planted, c.listed()); d != "" || len(w.planted) != 200 {
		t.Errorf("%d bypasses were planted; listed calls differ (-want +got):\n%s", len(w.planted), d)
	}
	if len(c.problems) > 0 || c.NoResult > 0 || c.NoCall > 0 {
		t.Errorf("problems %q, %d calls without a result, %d decisions without a call, want none", c.problems, c.NoResult, c.NoCall)
	}
}

// TestDamagedTranscripts checks that each damaged line is reported, and that the bypasses in the
// other lines are listed.
func TestDamagedTranscripts(t *testing.T) {
	randtest.InOneGoroutine(t)
	w, sessions := bypasses(t)
	names := slices.Sorted(maps.Keys(w.files))
	giant := 0
	for i, name := range names {
		f := w.files[name]
		switch i % 100 {
		case 10: // a line that is no JSON, in the middle
			at := bytes.IndexByte(f.Bytes(), '\n') + 1
			w.files[name] = bytes.NewBuffer(slices.Insert(bytes.Clone(f.Bytes()), at, []byte("{\"type\":\"assistant\",\n")...))
		case 20:
			f.WriteString("\x00\x00\x00\n")
		case 30:
			f.WriteString(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + "\n")
		case 40: // cut off
			f.WriteString(`{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution"`)
		case 50: // members of other types
			f.WriteString(`{"type":"assistant","timestamp":7,"message":{"content":[{"type":"tool_use"}]},"payload":[]}` + "\n")
		case 60:
			if giant++; giant <= 2 {
				f.WriteString(`{"type":"assistant","message":{"content":"` + strings.Repeat("x", maxLine) + "\"}}\n")
			}
		}
	}
	w.write(t)
	c := compare(t, filepath.Join(w.dir, "ledger"), w.dir, Vendors, sessions)
	if d := cmp.Diff(w.planted, c.listed()); d != "" {
		t.Errorf("listed calls differ (-want +got):\n%s", d)
	}
	want := 0
	for i := range names {
		if m := i % 100; m == 10 || m == 20 || m == 30 || m == 40 || m == 50 {
			want++
		}
	}
	if want += 2; len(c.problems) != want {
		t.Errorf("number of problems = %d, want %d:\n%s", len(c.problems), want, strings.Join(c.problems, "\n"))
	}
	for _, why := range []string{"is not JSON", "is cut off", "cannot be read", "is longer than 32 MiB"} {
		if !strings.Contains(strings.Join(c.problems, "\n"), why) {
			t.Errorf("no problem contains %q", why)
		}
	}
}

// TestCutTranscript checks that a transcript without its last line shows a call without a result.
func TestCutTranscript(t *testing.T) {
	for n := range 2 {
		w := newWorld(t, 0)
		w.add(t, n, 0, removed)
		w.add(t, n, 1, denied)
		for _, f := range w.files {
			text := bytes.TrimSuffix(f.Bytes(), []byte("\n"))
			f.Truncate(bytes.LastIndexByte(text, '\n') + 1)
			if n == 1 { // the item is sufficient for Codex
				text = bytes.TrimSuffix(f.Bytes(), []byte("\n"))
				f.Truncate(bytes.LastIndexByte(text, '\n') + 1)
			}
		}
		w.write(t)
		c := compare(t, filepath.Join(w.dir, "ledger"), w.dir, Vendors, []string{fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)})
		if got := c.listed(); len(got) != 1 || !strings.HasPrefix(got[0], "bypassed ") || c.NoResult != 1 {
			t.Errorf("listed calls = %q, %d calls without a result, want one of each", got, c.NoResult)
		}
	}
}

// endless is a reader of n bytes without a line end.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(len(b), e.n)
	for i := range b[:n] {
		b[i] = 'x'
	}
	e.n -= n
	return n, nil
}

// TestHugeLine checks that a line of 1 GB is reported, and needs no more memory than the longest
// line that is read.
func TestHugeLine(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var problems []string
	lines := 0
	err := eachLine(io.MultiReader(&endless{1 << 30}, strings.NewReader("\n{}\n")), func(n int, text []byte) error { lines++; return nil },
		func(n int, err error) { problems = append(problems, fmt.Sprint(n, " ", err)) })
	runtime.ReadMemStats(&after)
	if err != nil || lines != 1 || !slices.Equal(problems, []string{"1 the line is longer than 32 MiB"}) {
		t.Errorf("lines = %d, problems = %q, error %v", lines, problems, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*maxLine {
		t.Errorf("memory allocated = %d MiB, want at most %d", used>>20, 8*maxLine>>20)
	}
}

// TestFailingRead checks that an error of the file is returned.
func TestFailingRead(t *testing.T) {
	failure := errors.New("I/O error")
	err := readClaude(io.MultiReader(strings.NewReader("{}\n"), errReader{failure}), File{}, kinds, func(Call) {}, func(int, error) {})
	if !errors.Is(err, failure) {
		t.Errorf("error = %v, want %v", err, failure)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestFindReportsUnknownThread checks that a transcript of Codex that may belong to a session is
// reported if its first line cannot be read.
func TestFindReportsUnknownThread(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rollout-1-S.jsonl": "", "rollout-1-sub.jsonl": `{"type":"session_meta","payload":{"id":"sub","session_id":"S"}}` + "\n",
		"rollout-1-other.jsonl": `{"type":"session_meta","payload":{"id":"other","session_id":"T"}}` + "\n", "rollout-1-empty.jsonl": "",
		"rollout-1-old.jsonl.zst": "x", "rollout-1-cut.jsonl": `{"type":"session_meta","payload":{"session_id":"S"`, "notes.jsonl": "x",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other := t.TempDir()
	if err := os.Symlink(other, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	link := filepath.Join(other, "root")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	var problems []string
	if none, err := Find("codex", filepath.Join(dir, "missing"), map[string]bool{"S": true}, func(Problem) { t.Error("a problem") }); none != nil || err != nil {
		t.Errorf("files of a missing directory = %v, error %v", none, err)
	}
	files, err := Find("codex", link, map[string]bool{"S": true}, func(p Problem) { problems = append(problems, filepath.Base(p.File)) })
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{Vendor: "codex", Session: "S", Main: true, Path: filepath.Join(dir, "rollout-1-S.jsonl")}, {Vendor: "codex", Session: "S", Agent: "sub", Path: filepath.Join(dir, "rollout-1-sub.jsonl")}}
	if d := cmp.Diff(want, files); d != "" {
		t.Errorf("files differ (-want +got):\n%s", d)
	}
	if want := []string{"link", "rollout-1-cut.jsonl", "rollout-1-old.jsonl.zst"}; !slices.Equal(problems, want) {
		t.Errorf("problems = %q, want %q", problems, want)
	}
}

// FuzzTranscript checks that no text causes a panic, and that each line that is no JSON is
// reported.
func FuzzTranscript(f *testing.F) {
	for _, pattern := range []string{"testdata/claude-code/*/*.jsonl", "testdata/codex/*/*/*/*.jsonl"} {
		all, err := filepath.Glob(pattern)
		if err != nil || len(all) == 0 {
			f.Fatal("no recorded transcripts", err)
		}
		for _, file := range all {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func(io.Reader, File, Kinds, func(Call), func(int, error)) error{readClaude, readCodex} {
			reported := map[int]bool{}
			err := read(bytes.NewReader(text), File{Session: "S"}, kinds, func(c Call) {
				if c.ID == "" || c.Tool == "" {
					t.Errorf("call %+v has no id or no tool", c)
				}
			}, func(n int, err error) { reported[n] = true })
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range bytes.Lines(text) {
				if n++; !json.Valid(line) && !reported[n] {
					t.Errorf("line %d is no JSON and was not reported: %q", n, line)
				}
			}
		}
	})
}
