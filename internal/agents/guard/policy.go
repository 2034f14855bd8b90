// Package guard decides about the tool calls of agents that people start themselves, such as Claude
// Code, whose hooks call `concerto guard hook` (spec/51-guard.md). The rules are those of [guard]
// in Concerto.toml and in the files of the user and of the system; the strictest answer applies.
//
// Everything that is unknown, unreadable or late is denied.
package guard

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

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// FileName is the name of the policies of the user and of the system.
const FileName = "guard.toml"

// MaxPolicy is the maximum size of a policy file in bytes.
const MaxPolicy = 1 << 20

// Places are the directories and the environment in which calls are decided.
type Places struct {
	Home   string // home directory, or ""
	Config string // directory of the user's policy, or ""
	System string // directory of the system's policy, or ""
	State  string // directory of the user's state, or ""
	// Functions calls the functions of policies; nil if none can be called.
	Functions Functions
}

// Guard returns the directory of the ledgers.
func (p *Places) Guard() string { return filepath.Join(p.State, "guard") }

// Policy is one policy file.
type Policy struct {
	text        string // of the file
	file, shown string
	base        string // directory to which the roots are relative
	guard       *manifest.Guard
	run         json.RawMessage // [run], for what the ledger must not contain
	rules       section
	isProject   bool     // it is that of a project
	distrusted  bool     // no person has trusted it as it is
	sources     []Source // of its program
	broken      error    // why the program has no sources
}

// section is the content of [guard].
type section struct {
	Program     string             `json:"program"`
	Default     hostpolicy.Verdict `json:"default"`
	Unattended  hostpolicy.Verdict `json:"unattended"`
	Wait        int64              `json:"wait"`
	Other       hostpolicy.Verdict `json:"other"`
	Recheck     string             `json:"recheck"`
	Keep        string             `json:"keep"`
	Content     string             `json:"content"`
	Permissions access             `json:"permissions"`
	Agents      map[string]access  `json:"agents"`
}

// access is the content of [guard.permissions] and of [guard.agents.X].
type access struct {
	hostpolicy.Rules
	MCP hostpolicy.Commands `json:"mcp"`
}

// PolicyError is the error of a policy that cannot be applied.
type PolicyError struct {
	File string
	Line int // 0 if it is unknown
	Text string
}

func (e *PolicyError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// load reads the policies for a call: of the nearest projects with [guard] above dir and above the
// directory in which the agent was started, of the user, and of the system. It returns an error if
// there is none, or if one cannot be applied.
func (p *Places) load(dir, project string) ([]*Policy, error) {
	var out []*Policy
	starts := []string{dir}
	if project != "" && project != dir {
		starts = append(starts, project)
	}
	for _, start := range starts {
		at, err := nearest(start)
		if wrong := (*PolicyError)(nil); errors.As(err, &wrong) {
			wrong.File = shownIn(dir, wrong.File)
		}
		if err != nil {
			return nil, err
		}
		if at != nil && !slices.ContainsFunc(out, func(x *Policy) bool { return x.file == at.file }) {
			at.isProject = true
			out = append(out, at)
		}
	}
	for _, folder := range []string{p.Config, p.System} {
		if folder == "" {
			continue
		}
		own, err := read(filepath.Join(folder, FileName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if own.guard == nil {
			return nil, &PolicyError{File: own.file, Text: "it contains no [guard]"}
		}
		own.base = cmp.Or(project, dir)
		out = append(out, own)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no policy: neither a %s above %s nor %s contains [guard]", manifest.FileName, dir, filepath.Join(cmp.Or(p.Config, "~/.config/concerto"), FileName))
	}
	for _, x := range out {
		x.shown = shownIn(dir, x.file)
	}
	return out, nil
}

// shownIn returns the name of a file as it is shown to somebody in a directory.
func shownIn(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}

// nearest returns the policy of the nearest project above dir that has [guard], or nil.
func nearest(dir string) (*Policy, error) {
	for {
		p, err := read(filepath.Join(dir, manifest.FileName))
		switch {
		case err == nil && p.guard != nil:
			return p, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil, nil
		}
		dir = up
	}
}

// read reads a policy file. The policy has no guard if the file has no [guard].
func read(path string) (*Policy, error) {
	text, err := userfile.Read(path, MaxPolicy)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, &PolicyError{File: path, Text: userfile.Cause(err).Error()}
	}
	file := source.NewFile(path, text)
	m, list := manifest.Parse(file)
	for _, d := range list.Sorted() {
		if d.Severity() == diag.Error {
			return nil, &PolicyError{File: path, Line: file.LineOf(d.Span.Start), Text: d.Message}
		}
	}
	p := &Policy{text: string(text), file: path, base: filepath.Dir(path), guard: m.Guard, run: m.Run.Config, rules: section{Default: hostpolicy.Ask, Unattended: hostpolicy.Deny, Wait: manifest.GuardWait, Other: hostpolicy.Deny}}
	if m.Guard == nil {
		return p, nil
	}
	if err := json.Unmarshal(m.Guard.Config, &p.rules); err != nil {
		return nil, &PolicyError{File: path, Text: err.Error()}
	}
	if _, err := runconf.Read(p.run); err != nil {
		return nil, &PolicyError{File: path, Text: err.Error()}
	}
	return p, nil
}

// access returns the rules for an agent. place returns the position in [guard] of an entry, and the
// entry as it is written there.
func (p *Policy) access(agent string) (rules access, place func(key string, index int) (pointer, text string)) {
	all, own := p.rules.Permissions, p.rules.Agents[agent]
	lists := map[string][2]*[]string{
		"read": {&all.Read, &own.Read}, "write": {&all.Write, &own.Write}, "deny": {&all.Rules.Deny, &own.Rules.Deny},
		"commands.allow": {&all.Commands.Allow, &own.Commands.Allow}, "commands.ask": {&all.Commands.Ask, &own.Commands.Ask}, "commands.deny": {&all.Commands.Deny, &own.Commands.Deny},
		"net.allow": {&all.Net.Allow, &own.Net.Allow}, "net.ask": {&all.Net.Ask, &own.Net.Ask}, "net.deny": {&all.Net.Deny, &own.Net.Deny},
		"mcp.allow": {&all.MCP.Allow, &own.MCP.Allow}, "mcp.ask": {&all.MCP.Ask, &own.MCP.Ask}, "mcp.deny": {&all.MCP.Deny, &own.MCP.Deny},
	}
	shared := map[string]int{}
	for key, l := range lists {
		shared[key] = len(*l[0])
		*l[0] = slices.Concat(*l[0], *l[1])
	}
	return all, func(key string, index int) (string, string) {
		where, text := "/permissions/", (*lists[key][0])[index]
		if n := shared[key]; index >= n {
			where, index = "/agents/"+agent+"/", index-n
		}
		return fmt.Sprintf("%s%s/%d", where, strings.ReplaceAll(key, ".", "/"), index), text
	}
}

// rulesIn returns rules whose roots and globs with a slash are absolute.
func (p *Policy) rulesIn(r hostpolicy.Rules) hostpolicy.Rules {
	absolute := func(names []string) (out []string) {
		for _, name := range names {
			if !filepath.IsAbs(name) && !strings.HasPrefix(name, "~") {
				name = filepath.Join(p.base, name)
			}
			out = append(out, name)
		}
		return out
	}
	r.Read, r.Write = absolute(r.Read), absolute(r.Write)
	return r
}

// policy returns rules in the directory of the policy.
func (p *Policy) policy(r hostpolicy.Rules, home string) *hostpolicy.Policy {
	return hostpolicy.New(r, hostpolicy.Place{Dir: p.base, Home: home, Link: readLink})
}

func readLink(path string) (string, bool) {
	to, err := os.Readlink(path)
	return to, err == nil
}
