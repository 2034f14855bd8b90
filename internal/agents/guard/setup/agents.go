// Package setup installs the hooks of the guard in the settings of agents, removes them, starts
// agents with them, and checks with the agent itself whether they are in force
// (spec/51-guard.md).
package setup

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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
	matcher string   // pattern of all tools
	events  []string // events of hooks
	blocks  bool     // entries have a switch that makes failures deny
	// settings returns the files of a level, and how each is changed.
	settings func(a *Agent, p *Place, l Level) []file
	// refused are the arguments that `guard run` does not accept.
	refused []string
	// launch returns the arguments that pass the hooks, and variables as settings of the agent.
	launch func(a *Agent, p *Place, env map[string]string) ([]string, error)
	probe  func() probing
	open   []string // calls that reach no hook
	weak   []string // what starts the agent without the hooks, unless they are those of the system
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
			Name: "claude-code", Title: "Claude Code", Program: "claude", matcher: "*", blocks: true,
			events:   []string{"PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "ConfigChange"},
			settings: claudeSettings, launch: launchClaude, probe: claudeProbe,
			refused: []string{"--settings", "--bare", "--safe-mode", "--setting-sources"},
			weak:    []string{"another CLAUDE_CONFIG_DIR", "claude --bare, --safe-mode, --setting-sources and --settings"},
		},
		{
			Name: "codex", Title: "Codex", Program: "codex", matcher: ".*",
			events:   []string{"PreToolUse", "PermissionRequest", "PostToolUse"},
			settings: codexSettings, launch: launchCodex, probe: codexProbe,
			refused: []string{"--disable", "--dangerously-bypass-hook-trust"},
			open:    []string{"text that Codex types into a running program (write_stdin), and its web search"},
			weak:    []string{"another CODEX_HOME", "codex --disable hooks and --ignore-user-config"},
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

// command returns the command of a hook. A failure of the guard itself denies a call that has not
// run yet. A failure before the agent's own dialog leaves the decision to the dialog.
func (a *Agent) command(program, event string) string {
	run := quote(program) + " guard hook " + a.Name
	if event == "PermissionRequest" {
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

// group returns the entry of an event.
func (a *Agent) group(program, event string) group {
	h := hook{Type: "command", Command: a.command(program, event), Timeout: hookTimeout}
	if event == "PreToolUse" || event == "PermissionRequest" {
		h.StatusMessage = "Concerto guard"
	}
	if event == "PreToolUse" && a.blocks {
		h.OnFailure = "block"
	}
	g := group{Matcher: a.matcher, Hooks: []hook{h}}
	if event == "ConfigChange" {
		g.Matcher = ""
	}
	return g
}

// all returns the entries of all events, as in settings.
func (a *Agent) all(program string) map[string][]group {
	out := map[string][]group{}
	for _, event := range a.events {
		out[event] = []group{a.group(program, event)}
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

func claudeSettings(a *Agent, p *Place, l Level) []file {
	path := filepath.Join(p.folder("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")
	switch l {
	case Project:
		path = filepath.Join(p.Dir, ".claude", "settings.json")
	case System:
		path = filepath.Join(p.Root, "/etc/claude-code/managed-settings.d/concerto-guard.json")
	}
	return []file{{path, func(text []byte) ([]byte, []string, error) { return a.addHooks(text, p.program(l)) }}}
}

// folder returns the directory of an agent's settings.
func (p *Place) folder(variable, name string) string {
	if dir := p.Getenv(variable); dir != "" {
		return dir
	}
	return filepath.Join(p.Home, name)
}

// addHooks adds the entries of all events to settings in JSON.
func (a *Agent) addHooks(text []byte, program string) (out []byte, added []string, err error) {
	if err := a.checkSettings(text); err != nil {
		return nil, nil, err
	}
	e := editor{text: text}
	for _, event := range a.events {
		value, err := jsonwrite.Encode(a.group(program, event)) // without escapes of & and >
		if err != nil {
			return nil, nil, err
		}
		if err := e.append([]string{"hooks", event}, value); err != nil {
			return nil, nil, err
		}
	}
	return e.text, e.added, nil
}

// hookTypes are the types of hooks that agents know. Claude Code ignores a file with another one.
var hookTypes = []string{"command", "http", "mcp_tool", "prompt", "agent"}

// checkSettings returns an error for settings that the agent would ignore as a whole.
func (a *Agent) checkSettings(text []byte) error {
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil
	}
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
