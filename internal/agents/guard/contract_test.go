package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestCodex checks the answers to Codex, which has no answer that asks a person before a call.
func TestCodex(t *testing.T) {
	p, dir := newPlaces(t, `[guard]
unattended = "deny"
[guard.permissions]
write = ["src"]
commands = { allow = ["a *"], ask = ["b *"], deny = ["c *"] }
`, "", "")
	patch := func(files ...string) string {
		text := `*** Begin Patch\n`
		for _, f := range files {
			text += f + `\n`
		}
		return `{"command":"` + text + `*** End Patch\n"}`
	}
	for _, c := range []struct{ event, tool, args, stdout string }{
		{beforeTool, "Bash", `{"command":"a b"}`, ``},
		{beforeTool, "Bash", `{"command":"b c"}`, `"permissionDecision":"deny"`},
		{beforeTool, "Bash", `{"command":"c d"}`, `"permissionDecision":"deny"`},
		{beforeTool, "Bash", `{"command":"python"}`, `"permissionDecision":"deny"`},
		{askPerson, "Bash", `{"command":"a b"}`, `"decision":{"behavior":"allow"}`},
		{askPerson, "Bash", `{"command":"b c"}`, ``},
		{askPerson, "Bash", `{"command":"c d"}`, `"decision":{"behavior":"deny","message":"`},
		{beforeTool, "apply_patch", patch("*** Update File: src/a.go", "@@", "-x", "+y"), ``},
		{beforeTool, "apply_patch", patch("*** Update File: src/a.go", "*** Move to: b.go"), `deny`},
		{beforeTool, "apply_patch", patch("*** Add File: src/a.go", "*** Delete File: ../b.go"), `deny`},
		{beforeTool, "apply_patch", patch("*** Add File: src/.codex/hooks.json"), `built in`},
		{beforeTool, "apply_patch", `{"command":"nothing"}`, `the patch names no file`},
		{beforeTool, "apply_patch", `{}`, `the patch is missing`},
		{beforeTool, "spawn_agent", `{"message":"x"}`, ``},
		{beforeTool, "brand_new", `{}`, `deny`},
		{afterTool, "Bash", `{"command":"never judged"}`, `"decision":"block"`},
	} {
		h := newHook(p)
		h.Agent = "codex"
		stdout, stderr, code := h.run(event(c.event, c.tool, c.args, c.tool+c.args, dir))
		denied := strings.Contains(stdout, `"deny"`) || strings.Contains(stdout, `"block"`)
		if !strings.Contains(stdout, c.stdout) || (stdout == "") != (c.stdout == "") || denied != (code == 2) || denied != (stderr != "") {
			t.Errorf("%s %s %s: stdout %q stderr %q exit %d, want %q", c.event, c.tool, c.args, stdout, stderr, code, c.stdout)
		}
		_ = os.RemoveAll(p.State)
		trust(t, p, dir)
	}
}

// TestContracts checks how the inputs of other agents are read, and how they are answered.
func TestContracts(t *testing.T) {
	p, dir := newPlaces(t, `[guard]
default = "deny"
[guard.permissions]
read = ["."]
write = ["src"]
commands = { allow = ["a *"] }
net = { allow = ["pkg.go.dev"] }
mcp = { allow = ["demo.get*"] }
`, "", "")
	const nothing = ""
	for _, c := range []struct {
		agent, event, input string // DIR is the directory
		denied              bool
		stdout              string
	}{
		{"gemini", "", `"hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"a b"}`, false, nothing},
		{"gemini", "", `"hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"b"}`, true, `{"decision":"deny","reason":"`},
		{"gemini", "", `"hook_event_name":"BeforeTool","tool_name":"write_file","tool_input":{"file_path":"DIR/src/a","content":""}`, false, nothing},
		{"gemini", "", `"hook_event_name":"BeforeTool","tool_name":"write_file","tool_input":{"file_path":"DIR/a","content":""}`, true, "deny"},
		{"gemini", "", `"hook_event_name":"BeforeTool","tool_name":"mcp_demo_get","tool_input":{},"mcp_context":{"server_name":"demo","tool_name":"get"}`, false, nothing},
		{"gemini", "", `"hook_event_name":"BeforeTool","tool_name":"mcp_demo_get","tool_input":{}`, true, "deny"},
		{"gemini", "", `"hook_event_name":"BeforeAgent","tool_name":"x","tool_input":{}`, true, "unknown event"},
		{"copilot", "preToolUse", `"toolName":"bash","toolArgs":{"command":"a b"}`, false, `"permissionDecision":"allow"`},
		{"copilot", "preToolUse", `"toolName":"bash","toolArgs":{"command":"b"}`, true, `"permissionDecision":"deny"`},
		{"copilot", "permissionRequest", `"toolName":"bash","toolArgs":{"command":"b"}`, true, `"behavior":"deny"`},
		{"copilot", "permissionRequest", `"toolName":"create","toolArgs":{"path":"DIR/src/a","file_text":""}`, false, `"behavior":"allow"`},
		{"copilot", "preToolUse", `"toolName":"demo-get","toolArgs":{}`, false, `"allow"`},
		{"copilot", "preToolUse", `"toolName":"brand-new","toolArgs":{}`, true, "unknown tool"},
		{"copilot", "", `"toolName":"bash","toolArgs":{"command":"a b"}`, true, "names no event"},
		{"opencode", "", `"hook_event_name":"PreToolUse","tool_use_id":"c","tool_name":"bash","tool_input":{"command":"a b"}`, false, nothing},
		{"opencode", "", `"hook_event_name":"PreToolUse","tool_use_id":"c","tool_name":"bash","tool_input":{"command":"b"}`, true, nothing},
		{"opencode", "", `"hook_event_name":"PreToolUse","tool_use_id":"c","tool_name":"write","tool_input":{"filePath":"DIR/src/a"}`, false, nothing},
		{"opencode", "", `"hook_event_name":"PreToolUse","tool_use_id":"c","tool_name":"webfetch","tool_input":{"url":"https://pkg.go.dev/x","format":"text"}`, false, nothing},
		{"opencode", "", `"hook_event_name":"PreToolUse","tool_use_id":"c","tool_name":"demo_get_x","tool_input":{}`, false, nothing},
		{"opencode", "", `"hook_event_name":"PreToolUse","tool_use_id":"c","tool_name":"patch","tool_input":{"patchText":"*** Add File: src/a\n"}`, false, nothing},
		{"opencode", "", `"hook_event_name":"PreToolUse","tool_use_id":"c","tool_name":"patch","tool_input":{"patchText":"*** Add File: a\n"}`, true, nothing},
		{"cursor", "", `"hook_event_name":"preToolUse","tool_use_id":"c","cursor_version":"2","tool_name":"Shell","tool_input":{"command":"a b"}`, false, `"permission":"allow"`},
		{"cursor", "", `"hook_event_name":"preToolUse","tool_use_id":"c","cursor_version":"2","tool_name":"Shell","tool_input":"{\"command\":\"b\"}"`, true, `"permission":"deny"`},
		{"cursor", "", `"hook_event_name":"preToolUse","tool_use_id":"c","cursor_version":"2","tool_name":"MCP:demo:get","tool_input":"{}"`, false, `"permission":"allow"`},
		{"cursor", "", `"hook_event_name":"preToolUse","tool_use_id":"c","cursor_version":"2","tool_name":"TodoWrite","tool_input":{}`, false, `"permission":"allow"`},
	} {
		h := newHook(p)
		h.Agent, h.Event = c.agent, c.event
		text := `{"session_id":"s","sessionId":"s","conversation_id":"s","cwd":"DIR",` + c.input + "}"
		stdout, stderr, code := h.run(strings.ReplaceAll(text, "DIR", dir))
		if !strings.Contains(stdout, c.stdout) || (c.stdout == "") != (stdout == "") || c.denied != (code == 2) || c.denied != (stderr != "") {
			t.Errorf("%s %s %s: stdout %q stderr %q exit %d, want %q", c.agent, c.event, c.input, stdout, stderr, code, c.stdout)
		}
	}
}

// TestRepeated checks the decision about a call before which a person was asked, if the agent asks,
// too.
func TestRepeated(t *testing.T) {
	for _, c := range []struct {
		agent, before string
		want          string
	}{
		{"copilot", "allow", `{"behavior":"allow","message":"Concerto.toml:1: no rule matches, and ` + "`default` is by default \\\"ask\\\"" + `; as decided before the call"}`},
		{"copilot", "deny", `"behavior":"deny"`},
		{"copilot", "", "it was not decided before the call"},
		{"codex", "allow", `"behavior":"allow"`},
		{"codex", "deny", `"behavior":"deny"`},
		{"codex", "", ""},
	} {
		p, dir := newPlaces(t, "[guard]\nunattended = \""+cmp.Or(c.before, "deny")+"\"\n", "", "")
		h := newHook(p)
		h.Agent = c.agent
		before, ask := "preToolUse", "permissionRequest"
		if c.agent == "codex" {
			before, ask = beforeTool, askPerson
		}
		input := func(event, command string) string {
			h.Event = event
			return fmt.Sprintf(`{"session_id":"s","sessionId":"s","cwd":%q,"hook_event_name":%q,"tool_name":"Bash","toolName":"bash","tool_use_id":%q,"tool_input":{"command":%[4]q},"toolArgs":{"command":%[4]q}}`, dir, event, event, command)
		}
		if c.before != "" {
			h.run(input(before, "a"))
		}
		if stdout, stderr, _ := h.run(input(ask, "a")); !strings.Contains(stdout, c.want) || (stdout == "") != (c.want == "") {
			t.Errorf("%s after %q: %q %q, want %q", c.agent, c.before, stdout, stderr, c.want)
		}
		if stdout, _, _ := h.run(input(ask, "b")); strings.Contains(stdout, "allow") {
			t.Errorf("%s: another command: %q", c.agent, stdout)
		}
	}
}

// TestRepeatedOfAnotherTool checks that the decision about a call of one tool does not count for
// another tool with the same arguments.
func TestRepeatedOfAnotherTool(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\nother = \"ask\"\n[guard.permissions.mcp]\nallow = [\"demo.get\"]\n", "", "")
	h := newHook(p)
	h.Agent = "copilot"
	input := func(tool string) string {
		return fmt.Sprintf(`{"sessionId":"s","cwd":%q,"toolName":%q,"toolArgs":{}}`, dir, tool)
	}
	h.Event = "preToolUse"
	if stdout, _, _ := h.run(input("demo-get")); !strings.Contains(stdout, `"allow"`) {
		t.Fatalf("the first call: %q", stdout)
	}
	h.Event = "permissionRequest"
	if stdout, _, code := h.run(input("demo-delete")); code != 2 {
		t.Errorf("another tool: %q exit %d", stdout, code)
	}
}

// TestCursorRunsClaudesHooks checks that one hook decides if Cursor also runs that of Claude Code.
func TestCursorRunsClaudesHooks(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\ndefault = \"deny\"\n", "", "")
	h := newHook(p)
	text := strings.Replace(event(beforeTool, "Bash", `{"command":"a"}`, "t1", dir), "{", `{"cursor_version":"2",`, 1)
	if _, stderr, code := h.run(text); code != 2 || !strings.Contains(stderr, "the hooks of Cursor are not installed") {
		t.Errorf("without hooks of Cursor: %q exit %d", stderr, code)
	}
	h.CursorHooked = func() bool { return true }
	if stdout, stderr, code := h.run(text); code != 0 || stdout+stderr != "" {
		t.Errorf("with hooks of Cursor: %q %q exit %d", stdout, stderr, code)
	}
}

// TestRecheck checks the calls of a program that was not checked as it is.
func TestRecheck(t *testing.T) {
	for _, c := range []struct {
		policy, checks, program string
		denied                  bool
	}{
		{open, "", "", false},
		{open + "recheck = \"deny\"\n", "", "p 1 1", true},
		{open + "recheck = \"deny\"\n", `{"claude-code":{"program":"p 1 1","enforced":true}}`, "p 1 1", false},
		{open + "recheck = \"deny\"\n", `{"claude-code":{"program":"p 1 1","enforced":false}}`, "p 1 1", true},
		{open + "recheck = \"deny\"\n", `{"claude-code":{"program":"p 1 1","enforced":true}}`, "p 1 2", true},
		{open + "recheck = \"deny\"\n", `{"codex":{"program":"p 1 1","enforced":true}}`, "p 1 1", true},
		{open + "recheck = \"deny\"\n", `{"claude-code":{"program":"","enforced":true}}`, "", true},
		{open + "recheck = \"deny\"\n", `[`, "p 1 1", true},
	} {
		p, dir := newPlaces(t, c.policy, "", "")
		write(t, p.ChecksFile(), c.checks)
		h := newHook(p)
		h.Program = func() string { return c.program }
		_, stderr, code := h.run(event(beforeTool, "Bash", `{"command":"a"}`, "t1", dir))
		if (code == 2) != c.denied || c.denied && !strings.Contains(stderr, "this program of claude-code was not checked with `concerto guard check claude-code`") {
			t.Errorf("%q %s %s: %q exit %d", c.policy, c.checks, c.program, stderr, code)
		}
		command, err := json.Marshal(map[string]string{"command": ProbeAllow.Command(strings.Repeat("a", 32))})
		if err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := h.run(event(beforeTool, "Bash", string(command), "t2", dir)); code != 0 {
			t.Errorf("a probe: %s %s", stdout, stderr)
		}
	}
}
