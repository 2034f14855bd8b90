// Package setup installs the hooks of the guard in the settings of agents, removes them, starts
// agents with them, and checks with the agent itself whether they are in force
// (spec/51-guard.md).
package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Level is where hooks are installed.
type Level string

// The levels.
const (
	User    Level = "user"    // for all projects of the user
	Project Level = "project" // for one project, also for those who clone it
	System  Level = "system"  // for all users; agents cannot change it
)

// Levels are all levels.
var Levels = []Level{User, Project, System}

// Place describes the machine.
type Place struct {
	Dir      string // directory of the project, absolute
	Home     string
	State    string // directory in which installations are recorded
	Config   string // directory of the user's policy
	Root     string // prefix of /etc; "" outside of tests
	Concerto string // this program, absolute
	Environ  []string
	Getenv   func(name string) string
}

// Agent is an agent whose hooks can be installed.
type Agent struct {
	Name    string // as in `guard hook`
	Title   string
	Program string
	events  []event
	// entry returns the entry of an event in settings.
	entry func(command string, e event) any
	// settings returns the files of a level, and how each is changed. The error is about a level
	// that the agent does not have.
	settings func(a *Agent, p *Place, l Level) ([]file, error)
	check    func(a *Agent, text []byte) error // returns an error for settings that the agent ignores as a whole; nil for none
	begin    string                            // content of a new settings file
	refused  []string                          // arguments that `guard run` does not accept
	// launch returns the arguments and variables that pass the hooks, and variables as settings of
	// the agent; nil if that is not possible.
	launch func(a *Agent, p *Place, env map[string]string) (args, environ []string, err error)
	probe  func() probing
	open   []string // calls that reach no hook
	weak   []string // what starts the agent without the hooks, unless they are those of the system
}

// event is an event of hooks.
type event struct {
	name string
	// undecided means that a failure of the guard leaves the decision to the agent's own dialog.
	// Otherwise, it denies a call that has not run yet.
	undecided bool
	before    bool // the event is before a call, and the agent waits for the answer
}

// file is a settings file and the change that installs the hooks.
type file struct {
	path string
	edit func(text []byte) (out []byte, added []string, err error)
}

// Agents are the agents, by name.
func Agents() []Agent {
	return []Agent{
		{
			Name: "claude-code", Title: "Claude Code", Program: "claude", entry: claudeEntry, check: checkHooks,
			events:   []event{{name: "PreToolUse", before: true}, {name: "PermissionRequest", before: true, undecided: true}, {name: "PostToolUse"}, {name: "PostToolUseFailure"}, {name: "SessionEnd"}, {name: "ConfigChange"}},
			settings: inJSON("CLAUDE_CONFIG_DIR", ".claude", "settings.json", "/etc/claude-code/managed-settings.d/concerto-guard.json"),
			launch:   launchClaude, probe: claudeProbe,
			refused: []string{"--settings", "--bare", "--safe-mode", "--setting-sources"},
			weak:    []string{"another CLAUDE_CONFIG_DIR", "claude --bare, --safe-mode, --setting-sources and --settings"},
		},
		{
			Name: "codex", Title: "Codex", Program: "codex", entry: codexEntry, check: checkHooks,
			events:   []event{{name: "PreToolUse", before: true}, {name: "PermissionRequest", before: true, undecided: true}, {name: "PostToolUse"}},
			settings: codexSettings, launch: launchCodex, probe: codexProbe,
			refused: []string{"--disable", "--dangerously-bypass-hook-trust"},
			open:    []string{"text that Codex types into a running program (write_stdin), and its web search"},
			weak:    []string{"another CODEX_HOME", "codex --disable hooks and --ignore-user-config"},
		},
		{
			Name: "copilot", Title: "Copilot CLI", Program: "copilot", begin: "{\n  \"version\": 1\n}\n",
			// It runs a call whose hook before the call is late; the second hook also refuses it.
			events:   []event{{name: "preToolUse", before: true}, {name: "permissionRequest", before: true}, {name: "postToolUse"}},
			settings: copilotSettings, probe: copilotProbe,
			entry: func(command string, e event) any {
				return map[string]any{"type": "command", "bash": command, "timeoutSec": hookTimeout}
			},
			weak: []string{"another COPILOT_HOME", "settings with `disableAllHooks`"},
		},
		{
			Name: "cursor", Title: "Cursor", Program: "cursor-agent", begin: "{\n  \"version\": 1\n}\n",
			events:   []event{{name: "preToolUse", before: true}, {name: "postToolUse"}},
			settings: inJSON("", ".cursor", "hooks.json", "/etc/cursor/hooks.json"),
			entry: func(command string, e event) any {
				return struct {
					Command    string `json:"command"`
					Timeout    int    `json:"timeout"`
					FailClosed bool   `json:"failClosed"`
				}{command, hookTimeout, e.before}
			},
			open: []string{"completions in the editor, and agents in the cloud"},
		},
		{
			Name: "gemini", Title: "Gemini CLI", Program: "gemini",
			events:   []event{{name: "BeforeTool", before: true}, {name: "AfterTool"}},
			settings: inJSON("", ".gemini", "settings.json", "/etc/gemini-cli/settings.json"),
			probe:    geminiProbe,
			entry: func(command string, e event) any {
				g := group{Matcher: ".*", Hooks: []hook{{Name: geminiHook, Type: "command", Command: command, Timeout: hookTimeout * 1000}}}
				return g
			},
			weak: []string{"another GEMINI_CLI_HOME"},
		},
		{
			Name: "opencode", Title: "OpenCode", Program: "opencode",
			settings: openCodeSettings, launch: launchOpenCode, probe: openCodeProbe,
			refused: []string{"--pure"},
			weak:    []string{"another OPENCODE_CONFIG_DIR", "opencode --pure", "the plugin, which OpenCode loads once, does not load after an update of OpenCode"},
		},
	}
}

// Find returns an agent by its name, or nil.
func Find(name string) *Agent {
	for _, a := range Agents() {
		if a.Name == name {
			return &a
		}
	}
	return nil
}

// command returns the command of a hook.
func (a *Agent) command(program string, e event) string {
	run := quote(program) + " guard hook " + a.Name
	if a.Name == "copilot" { // its input does not name the event
		run += " " + e.name
	}
	if e.undecided {
		return run
	}
	return run + "; r=$?; case $r in 0|2) exit $r;; esac; echo 'concerto guard failed, so this call is refused' >&2; exit 2"
}

// quote returns a word of a shell.
func quote(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// hookTimeout is the time that agents grant a hook, in seconds. The guard's own limits are shorter:
// an agent runs a call whose hook is late.
const hookTimeout = 3600

// hook and group are the forms of hooks in settings.
type hook struct {
	Name          string `json:"name,omitempty" toml:"name,omitempty"`
	Type          string `json:"type" toml:"type"`
	Command       string `json:"command" toml:"command"`
	Timeout       int    `json:"timeout" toml:"timeout"`
	OnFailure     string `json:"onFailure,omitempty" toml:"onFailure,omitempty"`
	StatusMessage string `json:"statusMessage,omitempty" toml:"statusMessage,omitempty"`
}

type group struct {
	Matcher string `json:"matcher,omitempty" toml:"matcher,omitempty"`
	Hooks   []hook `json:"hooks" toml:"hooks"`
}

func claudeEntry(command string, e event) any {
	h := hook{Type: "command", Command: command, Timeout: hookTimeout}
	if e.before {
		h.StatusMessage = "Concerto guard: a call that waits is in `concerto top`"
	}
	if e.before && !e.undecided {
		h.OnFailure = "block"
	}
	g := group{Matcher: "*", Hooks: []hook{h}}
	if e.name == "ConfigChange" || e.name == "SessionEnd" { // it matches no tools
		g.Matcher = ""
	}
	return g
}

func codexEntry(command string, e event) any {
	g := claudeEntry(command, e).(group)
	g.Matcher, g.Hooks[0].OnFailure = ".*", ""
	return g
}

// all returns the entries of all events, as in settings.
func (a *Agent) all(program string) map[string][]any {
	out := map[string][]any{}
	for _, e := range a.events {
		out[e.name] = []any{a.entry(a.command(program, e), e)}
	}
	return out
}

// program returns the program that hooks of a level start. A project's settings are shared, so the
// program is found in PATH.
func (p *Place) program(l Level) string {
	if l == Project {
		return "concerto"
	}
	return p.Concerto
}

// inJSON returns the settings of an agent that has one file at each level: in the directory that a
// variable names, or in folder of the home directory; in folder of a project; and a file of the
// system.
func inJSON(variable, folder, name, system string) func(a *Agent, p *Place, l Level) ([]file, error) {
	return func(a *Agent, p *Place, l Level) ([]file, error) {
		path := filepath.Join(p.folder(variable, folder), name)
		switch l {
		case Project:
			path = filepath.Join(p.Dir, folder, name)
		case System:
			path = filepath.Join(p.Root, system)
		}
		return []file{a.jsonFile(path, p.program(l))}, nil
	}
}

func (a *Agent) jsonFile(path, program string) file {
	return file{path, func(text []byte) ([]byte, []string, error) { return a.addHooks(text, program) }}
}

func copilotSettings(a *Agent, p *Place, l Level) ([]file, error) {
	switch l {
	case Project:
		return []file{a.jsonFile(filepath.Join(p.Dir, ".github", "hooks", "concerto-guard.json"), p.program(l))}, nil
	case System:
		return nil, fmt.Errorf("%s has no settings of the system", a.Title)
	}
	return []file{a.jsonFile(filepath.Join(p.folder("COPILOT_HOME", ".copilot"), "hooks", "concerto-guard.json"), p.program(l))}, nil
}

// folder returns the directory of an agent's settings.
func (p *Place) folder(variable, name string) string {
	if dir := p.Getenv(variable); variable != "" && dir != "" {
		return dir
	}
	return filepath.Join(p.Home, name)
}

// addHooks adds the entries of all events to settings in JSON.
func (a *Agent) addHooks(text []byte, program string) (out []byte, added []string, err error) {
	if len(bytes.TrimSpace(text)) > 0 {
		standard, err := hujson.Standardize(slices.Clone(text)) // some agents accept comments
		if err != nil {
			return nil, nil, place(text, err)
		}
		if a.check != nil {
			if err := a.check(a, standard); err != nil {
				return nil, nil, err
			}
		}
	}
	e := editor{text: text, begin: a.begin}
	for _, x := range a.events {
		value, err := jsonwrite.Encode(a.entry(a.command(program, x), x)) // without escapes of & and >
		if err != nil {
			return nil, nil, err
		}
		if err := e.append([]string{"hooks", x.name}, value); err != nil {
			return nil, nil, err
		}
	}
	return e.text, e.added, nil
}

// hookTypes are the types of hooks that agents know. Claude Code ignores a file with another one.
var hookTypes = []string{"command", "http", "mcp_tool", "prompt", "agent"}

// checkHooks returns an error for settings that Claude Code or Codex would ignore as a whole.
func checkHooks(a *Agent, text []byte) error {
	var s struct {
		Hooks       map[string][]struct{ Hooks []struct{ Type string } } `json:"hooks"`
		Permissions struct {
			Allow []string `json:"allow"`
			Ask   []string `json:"ask"`
			Deny  []string `json:"deny"`
		} `json:"permissions"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return place(text, err)
	}
	for event, groups := range s.Hooks {
		for _, g := range groups {
			for _, h := range g.Hooks {
				if !slices.Contains(hookTypes, h.Type) {
					return fmt.Errorf("hooks.%s contains a hook of the unknown type %q, because of which %s ignores the whole file", event, h.Type, a.Title)
				}
			}
		}
	}
	return nil
}
