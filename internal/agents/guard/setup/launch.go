package setup

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// launchClaude returns the arguments with which Claude Code has the hooks. Settings of a project
// cannot switch them off.
func launchClaude(a *Agent, p *Place, env map[string]string) (args, environ []string, err error) {
	settings := map[string]any{"disableAllHooks": false, "hooks": a.all(p.Concerto)}
	if env != nil {
		settings["env"] = env
	}
	text, err := json.Marshal(settings)
	return []string{"--settings", string(text)}, nil, err
}

// launchOpenCode returns the variable that names the plugin.
func launchOpenCode(a *Agent, p *Place, _ map[string]string) (args, environ []string, err error) {
	path := filepath.Join(p.State, "guard", openCodePlugin)
	if err := writeFile(path, []byte(plugin(p.Concerto)), 0o600); err != nil {
		return nil, nil, err
	}
	config := map[string]any{}
	if own := p.Getenv("OPENCODE_CONFIG_CONTENT"); own != "" {
		if err := json.Unmarshal([]byte(own), &config); err != nil {
			return nil, nil, fmt.Errorf("OPENCODE_CONFIG_CONTENT: %w", err)
		}
	}
	plugins, _ := config["plugin"].([]any)
	config["plugin"] = append(plugins, "file://"+path)
	text, err := json.Marshal(config)
	return nil, []string{"OPENCODE_CONFIG_CONTENT=" + string(text)}, err
}

// CanRun reports whether the agent can be started with hooks.
func (a *Agent) CanRun() bool { return a.launch != nil }

// Launch returns the arguments and variables that start the agent with the hooks, whatever settings
// a project has. The error is a *RefusedError for arguments that could remove the hooks.
func (a *Agent) Launch(p *Place, args []string) (all, environ []string, err error) {
	if a.launch == nil {
		return nil, nil, fmt.Errorf("%s has no arguments or variables for hooks: use `concerto guard install %s`", a.Title, a.Name)
	}
	if err := a.refuse(args); err != nil {
		return nil, nil, err
	}
	own, environ, err := a.launch(a, p, nil)
	return append(own, args...), environ, err
}

// refuse returns a *RefusedError for arguments that could remove the hooks.
func (a *Agent) refuse(args []string) error {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, value, _ := strings.Cut(arg, "=")
		if slices.Contains(a.refused, name) {
			return &RefusedError{arg}
		}
		if a.Name == "codex" && setsHooks(name, value, append(args[i+1:], "")[0]) {
			return &RefusedError{arg}
		}
	}
	return nil
}

// RefusedError is the error about an argument that could remove the hooks.
type RefusedError struct{ Arg string }

func (e *RefusedError) Error() string { return fmt.Sprintf("`%s` could remove the hooks", e.Arg) }

// setsHooks reports whether an argument of Codex sets keys about hooks. next is the argument after
// it.
func setsHooks(name, value, next string) bool {
	key, short := strings.CutPrefix(name, "-c")
	switch {
	case name == "--config" && value != "":
		key = strings.SplitN(value, "=", 2)[0]
	case name == "--config" || name == "-c":
		key = strings.SplitN(next, "=", 2)[0]
	case !short || strings.HasPrefix(name, "--"):
		return false
	}
	key = strings.Trim(key, ` "'`)
	return strings.HasPrefix(key, "hooks") || strings.HasPrefix(key, "features")
}
