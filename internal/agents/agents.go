// Package agents lists the vendors' coding agents that Concerto is tested with, and the scenarios
// in which each is tried. A scenario starts the agent in an empty home and a new repository, and
// only its model is scripted. The command host conform and the tests play the same scenarios.
package agents

//go:generate go run ./gen ../../spec/50-agents.md results

import (
	"encoding/json"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Agent is one row of the table of agents: an npm package and the settings that point it at the
// model server. An agent that is not in the table has only a transport.
type Agent struct {
	Name      string // name of its recordings and results
	Title     string
	Package   string
	Version   string // the tested version
	Program   string
	Setup     string // script of the package that npm may not run by itself; "" for none
	Transport string
	args      func(at place) []string
	env       func(at place) map[string]string
	files     func(at place) map[string]string // returns the agent's files; keys are paths relative to its home
	model     string
	// expect maps scenarios to the result that is known of the agent, with the reason or detail
	// after a colon. The others are expected to result in yes.
	expect  map[string]string
	unknown bool // nothing is expected of the agent
	scriptedModel
}

// scriptedModel configures the scripted model of an agent. A call without a name is one that the
// agent does not offer.
type scriptedModel struct {
	main    string           // text that only requests of the main conversation contain
	touch   modelserver.Call // call of the agent's tool that runs commands
	asks    modelserver.Call // call of the agent's tool that asks the user; without arguments, the transport offers no such tool
	helps   modelserver.Call // call of the agent's tool that starts a subagent, whose prompt is subJob
	writes  modelserver.Call // call of the agent's tool that writes files: it creates new.txt, and DIR means the directory
	fetches modelserver.Call // call of the agent's tool that reads a page, whose address is URL
	adds    string           // name that the agent uses for the tool of the program
	answers modelserver.Call // call of the agent's tool that returns a value which fits a schema; without a name, the text does
	forms   modelserver.Call // call of a tool of the MCP server conform, whose name is added to the call's
	other   string           // another model that the agent accepts as the key model
	sent    string           // name of that model in requests
	thinks  bool             // the agent reports the model's thinking

	background backgroundModel
}

// place is the environment of an agent.
type place struct {
	home string
	url  string // of the model server
	asks string // URL of the MCP server that asks the user; "" for none
}

func toolCall(id, name, args string) modelserver.Call {
	return modelserver.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

// Calls that all agents of one vendor support.
var (
	claudeTouch = toolCall("toolu_1", "Bash", `{"command":"touch made.txt","description":"make a file"}`)
	claudeAsks  = toolCall("toolu_2", "AskUserQuestion",
		`{"questions":[{"question":"Tabs or spaces?","header":"Indent","multiSelect":false,"options":[{"label":"Tabs","description":"wide"},{"label":"Spaces","description":"narrow"}]}]}`)
	claudeWrites  = toolCall("toolu_3", "Write", `{"file_path":"DIR/new.txt","content":"new\n"}`)
	claudeFetches = toolCall("toolu_5", "WebFetch", `{"url":"URL","prompt":"read it"}`)
	claudeHelps   = toolCall("toolu_4", "Agent", `{"description":"helper","prompt":"`+subJob+`","subagent_type":"general-purpose"}`)
)

// subJob is the prompt of a subagent.
const subJob = "touch the file for me"

// Results of several agents.
const (
	notTried = "not offered: not tried"
	queued   = "yes: as the next prompt"
	eachCall = "yes: each call needs one"
)

// Table returns the tested agents.
func Table() []Agent {
	all := rows()
	for i := range all {
		if all[i].background.helps.Name != "" {
			continue
		}
		for _, x := range background() {
			all[i].expect[x.Name] = notTried
		}
	}
	return all
}

func rows() []Agent {
	return []Agent{
		{Name: "claude", Title: "Claude Code", Package: "@anthropic-ai/claude-code", Version: "2.1.332", Program: "claude", Setup: "install.cjs", Transport: "claude-code", env: anthropic,
			args: func(at place) []string {
				if at.asks == "" {
					return nil
				}
				return []string{"--mcp-config", encode(object{"mcpServers": object{"conform": object{"type": "http", "url": at.asks}}})}
			},
			scriptedModel: scriptedModel{main: `"name":"Bash"`, touch: claudeTouch, asks: claudeAsks, helps: claudeHelps, writes: claudeWrites, fetches: claudeFetches,
				answers: toolCall("toolu_10", "StructuredOutput", ""),
				adds:    "mcp__concerto__Calc_add", forms: toolCall("toolu_6", "mcp__conform__", "{}"), other: "claude-haiku-4-5", thinks: true,
				background: backgroundModel{main: `"name":"AskUserQuestion"`, job: `"text":"` + subJob, notifies: true,
					helps:  toolCall("toolu_7", "Agent", `{"description":"helper","prompt":"`+subJob+`","subagent_type":"general-purpose","run_in_background":true}`),
					serves: toolCall("toolu_8", "Bash", `{"command":"sleep 1000","description":"a server","run_in_background":true}`),
					flows:  toolCall("toolu_9", "Workflow", `{"script":"export const meta = {name: 'make', description: 'make a file', phases: [{title: 'one'}]};\nreturn await agent('`+subJob+`');"}`)}},
			expect: map[string]string{"longest": "yes: session", "background_forbidden": "yes: in the foreground"}},
		{Name: "codex", Title: "Codex", Package: "@openai/codex", Version: "0.171.0", Program: "codex", Transport: "codex", model: "gpt-5.2",
			args: func(at place) []string {
				args := []string{"-c", `model_provider="test"`, "-c", `model_providers.test={name="test",base_url="` + at.url + `/v1",wire_api="responses",env_key="TEST_KEY"}`,
					"-c", "sandbox_workspace_write.exclude_slash_tmp=true"} // otherwise, Codex creates an empty /tmp/.git
				if at.asks != "" {
					args = append(args, "-c", `mcp_servers.conform={url="`+at.asks+`"}`)
				}
				return args
			},
			env: func(at place) map[string]string {
				return map[string]string{"TEST_KEY": "k", "CODEX_HOME": filepath.Join(at.home, ".codex")}
			},
			files: func(place) map[string]string { return map[string]string{".codex/config.toml": ""} },
			scriptedModel: scriptedModel{main: `"request_user_input"`, touch: toolCall("call_1", "exec_command", `{"cmd":"touch made.txt"}`),
				asks: toolCall("call_2", "request_user_input",
					`{"questions":[{"id":"indent","header":"Indent","question":"Tabs or spaces?","options":[{"label":"Tabs","description":"wide"},{"label":"Spaces","description":"narrow"}]}]}`),
				writes: toolCall("call_3", "exec_command", `{"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch\nEOF"}`),
				adds:   "Calc_add", forms: modelserver.Call{ID: "call_6", Namespace: "mcp__conform", Args: json.RawMessage("{}")}, other: "gpt-5.1", thinks: true,
				background: backgroundModel{main: `"multi_agent_v1"`, job: `"text":"` + subJob,
					helps:  modelserver.Call{ID: "call_7", Namespace: "multi_agent_v1", Name: "spawn_agent", Args: json.RawMessage(`{"message":"` + subJob + `"}`)},
					serves: toolCall("call_8", "exec_command", `{"cmd":"sleep 1000","yield_time_ms":300}`)}},
			expect: map[string]string{"longest": "yes: always", "deny_reason": "no", "edit": "no: denied", "network": notTried, "subagent": notTried, "workflow": notTried}},
		{Name: "claude-acp", Title: "claude-agent-acp", Package: "@agentclientprotocol/claude-agent-acp", Version: "0.101.0", Program: "claude-agent-acp", Transport: "acp", env: anthropic,
			scriptedModel: scriptedModel{main: `"name":"Bash"`, touch: claudeTouch, asks: claudeAsks, helps: claudeHelps, writes: claudeWrites, fetches: claudeFetches, adds: "mcp__concerto__Calc_add"},
			expect:        map[string]string{"models": notTried, "mcp_tool": notTried, "longest": "yes: once", "deny_reason": "no", "edit": "no: denied", "form": notTried, "url": notTried, "steer": queued, "confirmed": NotOffered}},
		{Name: "gemini", Title: "Gemini CLI", Package: "@google/gemini-cli", Version: "0.61.0", Program: "gemini", Transport: "acp", model: "gemini-2.5-pro",
			args: func(place) []string { return []string{"--acp"} },
			env: func(at place) map[string]string {
				return map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": at.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
			},
			files: func(at place) map[string]string {
				settings := object{"security": object{"auth": object{"selectedType": "gemini-api-key"}}, "privacy": object{"usageStatisticsEnabled": false}, "general": object{"disableAutoUpdate": true}}
				if at.asks != "" {
					settings["mcpServers"] = object{"conform": object{"httpUrl": at.asks}}
				}
				return map[string]string{".gemini/settings.json": encode(settings)}
			},
			scriptedModel: scriptedModel{main: `"run_shell_command"`, touch: toolCall("", "run_shell_command", `{"command":"touch made.txt","description":"make a file"}`), asks: modelserver.Call{Name: "ask_user"},
				writes: toolCall("", "write_file", `{"file_path":"DIR/new.txt","content":"new\n"}`), fetches: toolCall("", "web_fetch", `{"prompt":"read URL"}`),
				adds: "mcp_concerto_Calc_add", forms: toolCall("", "mcp_conform_", "{}"), other: "gemini-3.8-flash"},
			expect: map[string]string{"mcp_tool": eachCall, "resume": "no: it finds no earlier session", "longest": "yes: always", "deny_reason": "no", "edit": "no: denied",
				"write_file": "no: it fails if the file does not exist", "question": NotOffered, "form": NotOffered, "url": NotOffered, "subagent": notTried, "steer": queued, "confirmed": NotOffered}},
		{Name: "opencode", Title: "OpenCode", Package: "opencode-ai", Version: "1.18.33", Program: "opencode", Transport: "acp",
			args: func(place) []string { return []string{"acp"} },
			env: func(at place) map[string]string {
				config := object{
					"model": "test/m", "small_model": "test/m", "autoupdate": false, "share": "disabled", "permission": object{"*": "ask"},
					"provider": object{"test": object{"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": at.url + "/v1", "apiKey": "k"}, "models": object{"m": object{}, "n": object{}}}},
				}
				if at.asks != "" {
					config["mcp"] = object{"conform": object{"type": "remote", "url": at.asks}}
				}
				return map[string]string{"OPENCODE_CONFIG_CONTENT": encode(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
					"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}
			},
			scriptedModel: scriptedModel{main: `"name":"bash"`, touch: toolCall("call_1", "bash", `{"command":"touch made.txt","description":"make a file"}`), asks: modelserver.Call{Name: "question"},
				writes: toolCall("call_3", "write", `{"filePath":"DIR/new.txt","content":"new\n"}`), fetches: toolCall("call_5", "webfetch", `{"url":"URL","format":"text"}`),
				adds: "concerto_Calc_add", forms: toolCall("call_6", "conform_", "{}"), other: "test/n", sent: "n"},
			expect: map[string]string{"mcp_tool": eachCall, "longest": "yes: always", "deny": "yes: it ends the turn", "deny_reason": "no", "edit": "no: denied", "question": NotOffered, "form": NotOffered, "url": NotOffered,
				"subagent": notTried, "steer": queued, "sandbox": "no: " + ownServer, "confirmed": NotOffered}},
	}
}

// Unknown returns a row for an agent that the table does not contain. An agent of a vendor has the
// settings of the vendor's row; of another one only the transport is known.
func Unknown(transport string) Agent {
	for _, a := range Table() {
		if a.Transport == transport && transport != adapter.TransportACP {
			a.unknown = true
			return a
		}
	}
	return Agent{Name: transport, Title: transport, Transport: transport, unknown: true, env: func(at place) map[string]string {
		all := anthropic(at)
		all["OPENAI_BASE_URL"], all["OPENAI_API_KEY"] = at.url+"/v1", "k"
		all["GOOGLE_GEMINI_BASE_URL"], all["GEMINI_API_KEY"] = at.url, "k"
		return all
	}}
}

type object = map[string]any

// encode returns JSON of a value that can be encoded.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// anthropic configures an agent that uses Anthropic's API.
func anthropic(at place) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": at.url, "ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": filepath.Join(at.home, ".claude"),
		"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}
}
