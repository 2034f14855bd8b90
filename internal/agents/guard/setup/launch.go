package setup

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// launchClaude returns the arguments with which Claude Code has the hooks. Settings of a project
// cannot switch them off.
func launchClaude(a *Agent, p *Place, env map[string]string) ([]string, error) {
	settings := map[string]any{"disableAllHooks": false, "hooks": a.all(p.Concerto)}
	if env != nil {
		settings["env"] = env
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	return []string{"--settings", string(text)}, nil
}

// Launch returns the arguments that start the agent with the hooks, whatever settings a project
// has. It returns an error for arguments that could remove the hooks.
func (a *Agent) Launch(p *Place, args []string) ([]string, error) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, value, _ := strings.Cut(arg, "=")
		if slices.Contains(a.refused, name) {
			return nil, &RefusedError{arg}
		}
		if a.Name == "codex" && setsHooks(name, value, append(args[i+1:], "")[0]) {
			return nil, &RefusedError{arg}
		}
	}
	own, err := a.launch(a, p, nil)
	return append(own, args...), err
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
