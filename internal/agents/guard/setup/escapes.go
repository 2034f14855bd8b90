package setup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// escapes returns how calls of the agent can be made without the guard in this directory. run means
// that `guard run` has started the agent.
func (a *Agent) escapes(p *Place, run bool) ([]string, error) {
	all, err := p.Installed()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(a.open)
	strong := slices.ContainsFunc(all, a.is(p, System))
	if !strong && !run {
		out = append(out, a.weak...)
	}
	switch a.Name {
	case "claude-code":
		out = append(out, a.claudeEscapes(p, strong, run)...)
	case "gemini":
		if !strong {
			out = append(out, geminiEscapes(p)...)
		}
	case "codex":
		out = append(out, a.codexEscapes(p, strong || run)...)
	}
	return out, nil
}

func (a *Agent) claudeEscapes(p *Place, strong, run bool) (out []string) {
	for _, path := range []string{
		filepath.Join(p.Root, "/etc/claude-code/managed-settings.json"), filepath.Join(p.folder("CLAUDE_CONFIG_DIR", ".claude"), "settings.json"),
		filepath.Join(p.Dir, ".claude", "settings.json"), filepath.Join(p.Dir, ".claude", "settings.local.json"),
	} {
		_, text, err := readSettings(path)
		if err != nil {
			out = append(out, err.Error())
		}
		if text == nil {
			continue
		}
		if err := checkHooks(a, text); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", path, err))
			continue
		}
		var s struct {
			DisableAllHooks       bool `json:"disableAllHooks"`
			AllowManagedHooksOnly bool `json:"allowManagedHooksOnly"`
			Hooks                 map[string][]struct {
				Hooks []struct{ Command, URL string }
			} `json:"hooks"`
		}
		if err := json.Unmarshal(text, &s); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", path, err))
			continue
		}
		if s.DisableAllHooks && !strong && !run {
			out = append(out, path+": `disableAllHooks` removes the hooks")
		}
		if s.AllowManagedHooksOnly && !strong {
			out = append(out, path+": `allowManagedHooksOnly` removes the hooks that are not installed with --system")
		}
		for _, g := range s.Hooks["PreToolUse"] {
			for _, h := range g.Hooks {
				if !strings.Contains(h.Command, " guard hook ") {
					out = append(out, fmt.Sprintf("%s: the hook %q can replace a call after it was allowed", path, cmp.Or(h.Command, h.URL)))
				}
			}
		}
	}
	return out
}

func (a *Agent) codexEscapes(p *Place, strong bool) (out []string) {
	path := filepath.Join(p.folder("CODEX_HOME", ".codex"), "config.toml")
	text, err := userfile.Read(path, maxSettings)
	if err == nil {
		var s struct{ Features map[string]any }
		if err := toml.Unmarshal(text, &s); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", path, placeTOML(err)))
		}
		if on, ok := s.Features["hooks"].(bool); ok && !on && !strong {
			out = append(out, path+": `features.hooks` removes the hooks")
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		out = append(out, err.Error())
	}
	hooks, err := a.list(p, nil)
	if err != nil {
		return append(out, "the list of Codex' hooks: "+err.Error())
	}
	for _, h := range hooks {
		own := strings.Contains(h.Command, " guard hook ")
		switch {
		case own && (h.Trust != "trusted" && h.Trust != "managed" || !h.Enabled):
			out = append(out, fmt.Sprintf("%s: Codex skips the hook %s, which is %s", h.SourcePath, h.event(), h.Trust))
		case !own && h.event() == "PreToolUse" && h.Trust == "trusted":
			out = append(out, fmt.Sprintf("%s: the hook %q can replace a call after it was allowed", h.SourcePath, h.Command))
		}
	}
	return out
}

func (p *Place) checksFile() string {
	places := guard.Places{State: p.State}
	return places.ChecksFile()
}

// Checks returns the last checks, by agent.
func (p *Place) Checks() (map[string]*Check, error) {
	all := map[string]*Check{}
	return all, readRecord(p.checksFile(), &all)
}

// saveCheck records a check as the last one of its agent.
func (p *Place) saveCheck(c *Check) error {
	all, err := p.Checks()
	if err != nil {
		return err
	}
	all[c.Agent] = c
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.checksFile()), 0o700); err != nil {
		return err
	}
	return userfile.Replace(p.checksFile(), append(text, '\n'), 0o600)
}
