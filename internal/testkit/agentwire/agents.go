package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// agent is one row of the table of agents: an npm package and the settings that point it at the
// model server.
type agent struct {
	name      string // name of the recording
	title     string
	pkg       string
	version   string
	program   string
	setup     string // script of the package that npm may not run by itself; "" for none
	transport string
	args      func(at place) []string
	env       func(at place) map[string]string
	files     func(at place) map[string]string // returns the agent's files; keys are paths relative to its home
	model     string
	scriptedModel
}

// scriptedModel configures the scripted model of an agent.
type scriptedModel struct {
	main   string           // text that only requests of the main conversation contain
	touch  modelserver.Call // call of the agent's tool that runs commands
	asks   modelserver.Call // call of the agent's tool that asks the user; without arguments, the transport offers no such tool
	helps  modelserver.Call // call of the agent's tool that starts a subagent, whose prompt is subJob; without arguments, the agent has none
	adds   string           // name that the agent uses for the tool of the program
	writes modelserver.Call // call of the agent's tool that writes files: it creates new.txt, and DIR means the directory
	thinks bool             // the agent reports the model's thinking

	longest string // longest scope of an approval: "session" or "always"
	reasons bool   // the model receives the reason of a denial
	edits   bool   // an approval can change the call
	stops   bool   // a denied call ends the agent's turn
	open    string // why the agent does not work in a sandbox; "" if it does
	// timid is set if the agent cannot create a new file over ACP. It reads the file before it
	// writes, and it stops when reading fails.
	timid   bool
	forgets bool // the agent finds no conversation of an earlier process
	steered bool // the agent receives messages while it works
}

// place is the environment of an agent.
type place struct {
	home string
	url  string // URL of the model server
}

func toolCall(id, name, args string) modelserver.Call {
	return modelserver.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

// Calls that all agents of one vendor support.
var (
	claudeTouch = toolCall("toolu_1", "Bash", `{"command":"touch made.txt","description":"make a file"}`)
	claudeAsks  = toolCall("toolu_2", "AskUserQuestion",
		`{"questions":[{"question":"Tabs or spaces?","header":"Indent","multiSelect":false,"options":[{"label":"Tabs","description":"wide"},{"label":"Spaces","description":"narrow"}]}]}`)
	claudeHelps = toolCall("toolu_4", "Agent", `{"description":"helper","prompt":"`+subJob+`","subagent_type":"general-purpose"}`)
)

// subJob is the prompt of a subagent.
const subJob = "touch the file for me"

// agents lists the agents to record.
var agents = []agent{
	{name: "claude", title: "Claude Code", pkg: "@anthropic-ai/claude-code", version: "2.1.332", program: "claude", setup: "install.cjs", transport: "claude-code", env: anthropic,
		scriptedModel: scriptedModel{main: `"name":"Bash"`, touch: claudeTouch, asks: claudeAsks, helps: claudeHelps, writes: toolCall("toolu_3", "Write", `{"file_path":"DIR/new.txt","content":"new\n"}`), adds: "mcp__concerto__Calc_add", thinks: true, longest: "session", reasons: true, edits: true, steered: true}},
	{name: "codex", title: "Codex", pkg: "@openai/codex", version: "0.171.0", program: "codex", transport: "codex", model: "gpt-5.2",
		args: func(at place) []string {
			return []string{"-c", `model_provider="test"`, "-c", `model_providers.test={name="test",base_url="` + at.url + `/v1",wire_api="responses",env_key="TEST_KEY"}`}
		},
		env: func(at place) map[string]string {
			return map[string]string{"TEST_KEY": "k", "CODEX_HOME": filepath.Join(at.home, ".codex")}
		},
		files: func(place) map[string]string { return map[string]string{".codex/config.toml": ""} },
		scriptedModel: scriptedModel{main: `"request_user_input"`, touch: toolCall("call_1", "exec_command", `{"cmd":"touch made.txt"}`),
			asks: toolCall("call_2", "request_user_input",
				`{"questions":[{"id":"indent","header":"Indent","question":"Tabs or spaces?","options":[{"label":"Tabs","description":"wide"},{"label":"Spaces","description":"narrow"}]}]}`),
			writes: toolCall("call_3", "exec_command", `{"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch\nEOF"}`), adds: "Calc_add", thinks: true, longest: "always", steered: true}},
	{name: "claude-acp", title: "claude-agent-acp", pkg: "@agentclientprotocol/claude-agent-acp", version: "0.101.0", program: "claude-agent-acp", transport: "acp", env: anthropic,
		scriptedModel: scriptedModel{main: `"name":"Bash"`, touch: claudeTouch, asks: claudeAsks, helps: claudeHelps, writes: toolCall("toolu_3", "Write", `{"file_path":"DIR/new.txt","content":"new\n"}`), adds: "mcp__concerto__Calc_add", longest: "once"}},
	{name: "gemini", title: "Gemini CLI", pkg: "@google/gemini-cli", version: "0.61.0", program: "gemini", transport: "acp", model: "gemini-2.5-pro",
		args: func(place) []string { return []string{"--acp"} },
		env: func(at place) map[string]string {
			return map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": at.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
		},
		files: func(place) map[string]string {
			return map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}`}
		},
		scriptedModel: scriptedModel{main: `"run_shell_command"`, touch: toolCall("", "run_shell_command", `{"command":"touch made.txt","description":"make a file"}`), asks: modelserver.Call{Name: "ask_user"}, writes: toolCall("", "write_file", `{"file_path":"DIR/new.txt","content":"new\n"}`), adds: "mcp_concerto_Calc_add", longest: "always", timid: true, forgets: true}},
	{name: "opencode", title: "OpenCode", pkg: "opencode-ai", version: "1.18.33", program: "opencode", transport: "acp",
		args: func(place) []string { return []string{"acp"} },
		env: func(at place) map[string]string {
			config, err := json.Marshal(map[string]any{
				"model": "test/m", "small_model": "test/m", "autoupdate": false, "share": "disabled", "permission": map[string]any{"*": "ask"},
				"provider": map[string]any{"test": map[string]any{"npm": "@ai-sdk/openai-compatible",
					"options": map[string]any{"baseURL": at.url + "/v1", "apiKey": "k"}, "models": map[string]any{"m": map[string]any{}}}},
			})
			if err != nil {
				panic(err)
			}
			return map[string]string{"OPENCODE_CONFIG_CONTENT": string(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
				"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}
		},
		scriptedModel: scriptedModel{main: `"name":"bash"`, touch: toolCall("call_1", "bash", `{"command":"touch made.txt","description":"make a file"}`), asks: modelserver.Call{Name: "question"}, writes: toolCall("call_3", "write", `{"filePath":"DIR/new.txt","content":"new\n"}`), adds: "concerto_Calc_add", longest: "always", stops: true, open: "it reaches its own server on the loopback interface by the proxy"}},
}

// anthropic configures an agent that uses Anthropic's API.
func anthropic(at place) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": at.url, "ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": filepath.Join(at.home, ".claude"),
		"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}
}

// config returns the host configuration that starts the agent in dir.
func (a *agent) config(bin, dir string, at place) host.Config {
	c := host.Config{Name: "Coder", Connector: "coder", Transport: a.transport, Command: filepath.Join(bin, a.program), Dir: dir,
		Timeout: 120, Initialisation: host.Initialisation{InitTimeout: 60}, Vendor: adapter.Vendor{Model: a.model}}
	if a.args != nil {
		c.Args = a.args(at)
	}
	if a.env != nil {
		c.Env = a.env(at)
	}
	return c
}

// writeFiles writes the agent's files to its home.
func (a *agent) writeFiles(at place) error {
	if a.files == nil {
		return nil
	}
	for name, text := range a.files(at) {
		path := filepath.Join(at.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
