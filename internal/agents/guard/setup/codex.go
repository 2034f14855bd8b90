package setup

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

func codexSettings(a *Agent, p *Place, l Level) ([]file, error) {
	home := p.folder("CODEX_HOME", ".codex")
	if l == System {
		return []file{{filepath.Join(p.Root, "/etc/codex/requirements.toml"), func(text []byte) ([]byte, []string, error) { return a.addRequirements(text, p) }}}, nil
	}
	path := filepath.Join(home, "hooks.json")
	if l == Project {
		path = filepath.Join(p.Dir, ".codex", "hooks.json")
	}
	var before []byte
	return []file{
		{path, func(text []byte) ([]byte, []string, error) {
			before = text
			return a.addHooks(text, p.program(l))
		}},
		// Codex skips hooks that are not trusted. The key names the file and the position in it.
		{filepath.Join(home, "config.toml"), func(text []byte) ([]byte, []string, error) {
			keys, err := a.keys(path, before)
			if err != nil {
				return nil, nil, err
			}
			return a.addTrust(text, p, p.program(l), keys)
		}},
	}, nil
}

// keys returns the keys under which Codex trusts the entries of a file that had a content before.
func (a *Agent) keys(path string, before []byte) (map[string]string, error) {
	var s struct {
		Hooks map[string][]json.RawMessage `json:"hooks"`
	}
	if len(before) > 0 {
		if err := json.Unmarshal(before, &s); err != nil {
			return nil, err
		}
	}
	keys := map[string]string{}
	for _, e := range a.events {
		keys[e.name] = fmt.Sprintf("%s:%s:%d:0", path, snake(e.name), len(s.Hooks[e.name]))
	}
	return keys, nil
}

// snake returns the name of an event in Codex' keys, such as pre_tool_use.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// addTrust adds the state of trusted hooks to config.toml.
func (a *Agent) addTrust(text []byte, p *Place, program string, keys map[string]string) ([]byte, []string, error) {
	hashes, err := a.hashes(p, program)
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	for _, e := range a.events {
		fmt.Fprintf(&b, "\n[hooks.state.%s]\ntrusted_hash = %q\n", quoteTOML(keys[e.name]), hashes[e.name])
	}
	return appendTOML(text, b.String())
}

// addRequirements adds the hooks to the settings that Codex requires of all users.
func (a *Agent) addRequirements(text []byte, p *Place) ([]byte, []string, error) {
	var s struct{ Features map[string]any }
	if _, err := toml.Decode(string(text), &s); err != nil {
		return nil, nil, placeTOML(err)
	}
	var b strings.Builder
	switch on, ok := s.Features["hooks"].(bool); {
	case ok && !on:
		return nil, nil, errors.New("`features.hooks` is false: remove it first")
	case s.Features == nil:
		b.WriteString("\n[features]\nhooks = true\n")
	}
	e := toml.NewEncoder(&b)
	e.Indent = ""
	b.WriteByte('\n')
	if err := e.Encode(map[string]any{"hooks": a.all(p.Concerto)}); err != nil {
		return nil, nil, err
	}
	return appendTOML(text, b.String())
}

// appendTOML appends tables to a text.
func appendTOML(text []byte, more string) ([]byte, []string, error) {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		more = "\n" + more
	}
	if len(text) == 0 {
		more = strings.TrimLeft(more, "\n")
	}
	out := append(slices.Clone(text), more...)
	var before, after map[string]any
	if err := toml.Unmarshal(text, &before); err != nil {
		return nil, nil, placeTOML(err)
	}
	if err := toml.Unmarshal(out, &after); err != nil {
		return nil, nil, fmt.Errorf("tables cannot be added at the end: %w", placeTOML(err))
	}
	return out, []string{more}, nil
}

func placeTOML(err error) error {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("line %d: %s", parse.Position.Line, parse.Message)
	}
	return err
}

func quoteTOML(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// sessionFlags is the file in the keys of hooks that are passed as arguments.
const sessionFlags = "/<session-flags>/config.toml"

// arguments returns the arguments with which Codex has the hooks.
func (a *Agent) arguments(program string) []string {
	args := []string{"-c", "features.hooks=true"}
	for _, e := range a.events {
		g := codexEntry(a.command(program, e), e).(group)
		h := g.Hooks[0]
		args = append(args, "-c", fmt.Sprintf("hooks.%s=[{matcher=%s,hooks=[{type=%s,command=%s,timeout=%d%s}]}]", e.name, quoteTOML(g.Matcher), quoteTOML(h.Type), quoteTOML(h.Command), h.Timeout, status(h)))
	}
	return args
}

func status(h hook) string {
	if h.StatusMessage == "" {
		return ""
	}
	return ",statusMessage=" + quoteTOML(h.StatusMessage)
}

// launchCodex returns the arguments with which Codex has the hooks, and trusts them.
func launchCodex(a *Agent, p *Place, _ map[string]string) (args, environ []string, err error) {
	hashes, err := a.hashes(p, p.Concerto)
	if err != nil {
		return nil, nil, err
	}
	var states []string
	for _, e := range a.events {
		states = append(states, fmt.Sprintf("%s={trusted_hash=%q}", quoteTOML(fmt.Sprintf("%s:%s:0:0", sessionFlags, snake(e.name))), hashes[e.name]))
	}
	return append(a.arguments(p.Concerto), "-c", "hooks.state={"+strings.Join(states, ",")+"}"), nil, nil
}

// hashes returns Codex' hashes of the hooks, by event. They are the same for all files.
func (a *Agent) hashes(p *Place, program string) (map[string]string, error) {
	list, err := a.list(p, a.arguments(program))
	if err != nil {
		return nil, fmt.Errorf("ask Codex for the hashes of the hooks: %w", err)
	}
	out := map[string]string{}
	for _, h := range list {
		if h.SourcePath == sessionFlags {
			out[h.event()] = h.Hash
		}
	}
	for _, e := range a.events {
		if out[e.name] == "" {
			return nil, fmt.Errorf("this version of Codex has no hash of the hook %s", e.name)
		}
	}
	return out, nil
}

// listed is a hook in Codex' list of hooks.
type listed struct {
	Event      string `json:"eventName"`
	Command    string `json:"command"`
	SourcePath string `json:"sourcePath"`
	Source     string `json:"source"`
	Hash       string `json:"currentHash"`
	Trust      string `json:"trustStatus"`
	Enabled    bool   `json:"enabled"`
}

// event returns the name of the event as in settings.
func (l *listed) event() string { return strings.ToUpper(l.Event[:1]) + l.Event[1:] }

// list returns the hooks that Codex has in the directory.
func (a *Agent) list(p *Place, args []string) (hooks []listed, err error) {
	path, err := a.locate(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := procgroup.Command{Path: path, Args: append([]string{"app-server"}, args...), Dir: p.Dir, Env: p.Environ}
	err = converse(ctx, c, func(process *procgroup.Process) (err error) {
		hooks, err = askHooks(process, p.Dir)
		return err
	})
	return hooks, err
}

// askHooks requests the list from a running app-server.
func askHooks(process *procgroup.Process, dir string) ([]listed, error) {
	type object = map[string]any
	send := func(v any) error { return json.NewEncoder(process.Stdin).Encode(v) }
	if err := send(object{"id": 0, "method": "initialize", "params": object{"clientInfo": object{"name": "concerto", "title": "Concerto", "version": "1"}}}); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(process.Stdout)
	lines.Buffer(nil, maxSettings)
	for lines.Scan() {
		var m struct {
			ID     *int            `json:"id"`
			Error  json.RawMessage `json:"error"`
			Result struct {
				Data []struct {
					Hooks  []listed          `json:"hooks"`
					Errors []json.RawMessage `json:"errors"`
				} `json:"data"`
			} `json:"result"`
		}
		switch err := json.Unmarshal(lines.Bytes(), &m); {
		case err != nil:
			return nil, err
		case m.ID == nil:
		case m.Error != nil:
			return nil, fmt.Errorf("%s", m.Error)
		case *m.ID == 0:
			if err := errors.Join(send(object{"method": "initialized"}), send(object{"id": 1, "method": "hooks/list", "params": object{"cwds": []string{dir}}})); err != nil {
				return nil, err
			}
		case len(m.Result.Data) == 1 && len(m.Result.Data[0].Errors) == 0:
			return m.Result.Data[0].Hooks, nil
		default:
			return nil, fmt.Errorf("an unexpected answer: %s", lines.Bytes())
		}
	}
	return nil, cmp.Or(lines.Err(), errors.New("it has ended without an answer"))
}
