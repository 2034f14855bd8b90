package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// A project's policy that a person has not trusted, or that was changed since, can only deny and
// ask: a repository that was cloned allows nothing by itself.

func (p *Places) trustFile() string { return filepath.Join(p.Guard(), "trusted.json") }

// trusted returns the sums of the trusted policies, by the path of the file.
func (p *Places) trusted() (map[string]string, error) {
	all := map[string]string{}
	if p.State == "" {
		return all, nil
	}
	text, err := userfile.Read(p.trustFile(), MaxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, &PolicyError{File: p.trustFile(), Text: err.Error()}
	}
	return all, nil
}

// checkTrust reads the sources of the policies' programs, and which policies of projects are
// trusted.
func (p *Places) checkTrust(policies []*Policy) error {
	trusted, err := p.trusted()
	if err != nil {
		return err
	}
	for _, x := range policies {
		p.readSources(x)
		x.distrusted = x.isProject && trusted[x.file] != x.sum()
	}
	return nil
}

// ChecksFile returns the file with the last check of each agent.
func (p *Places) ChecksFile() string { return filepath.Join(p.Guard(), "checks.json") }

// Checked returns the programs of agents for which the last check has shown that the policy is
// enforced; see AgentProgram.
func (p *Places) Checked() (map[string]string, error) {
	text, err := userfile.Read(p.ChecksFile(), MaxPolicy)
	var all map[string]struct {
		Program  string `json:"program"`
		Enforced bool   `json:"enforced"`
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	out := map[string]string{}
	for agent, c := range all {
		if c.Enforced {
			out[agent] = c.Program
		}
	}
	return out, err
}

// sum returns the SHA-256 sum of what a person trusts: the section, and if it has a program, the
// whole file, whose connections and permissions are those of the program, and its sources.
func (p *Policy) sum() string {
	text := []byte(p.guard.Config)
	if p.rules.Program != "" {
		text = []byte(p.text)
	}
	for _, s := range p.sources {
		text = fmt.Appendf(text, "%q%q", s.Path, s.Text)
	}
	return hexsum.SHA256(text)
}

// Trust records that a person trusts the policy of the nearest project above a directory. It
// returns its file, and the entries of the policy that allow something, as KEY = ENTRY.
func (p *Places) Trust(dir string) (file string, allows []string, err error) {
	x, err := nearest(dir)
	if err != nil {
		return "", nil, err
	}
	if p.State == "" {
		return "", nil, errNoState
	}
	if x == nil {
		return "", nil, fmt.Errorf("no Concerto.toml above %s contains [guard]", dir)
	}
	all, err := p.trusted()
	if err != nil {
		return "", nil, err
	}
	if p.readSources(x); x.broken != nil {
		return "", nil, x.broken
	}
	all[x.file] = x.sum()
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(p.Guard(), 0o700); err != nil {
		return "", nil, err
	}
	return x.file, x.allows(), userfile.Replace(p.trustFile(), append(text, '\n'), 0o600)
}

// Distrusted returns the file of the nearest project above a directory if its policy is not trusted
// as it is, and otherwise "".
func (p *Places) Distrusted(dir string) string {
	x, err := nearest(dir)
	if err != nil || x == nil {
		return "" // the hook denies, with the reason
	}
	p.readSources(x)
	if all, err := p.trusted(); err == nil && all[x.file] == x.sum() {
		return ""
	}
	return x.file
}

// allows returns the entries of a policy that allow something.
func (p *Policy) allows() (out []string) {
	add := func(where string, r access) {
		for _, list := range []struct {
			key     string
			entries []string
		}{{"read", r.Read}, {"write", r.Write}, {"commands.allow", r.Commands.Allow}, {"net.allow", r.Net.Allow}, {"mcp.allow", r.MCP.Allow}} {
			for _, e := range list.entries {
				out = append(out, fmt.Sprintf("%s%s = %q", where, list.key, e))
			}
		}
	}
	for _, x := range []struct {
		key     string
		verdict hostpolicy.Verdict
	}{{"default", p.rules.Default}, {"other", p.rules.Other}, {"unattended", p.rules.Unattended}} {
		if x.verdict == hostpolicy.Allow {
			out = append(out, fmt.Sprintf("%s = %q", x.key, x.verdict))
		}
	}
	if p.rules.Program != "" {
		out = append(out, fmt.Sprintf("program = %q", p.rules.Program))
	}
	add("permissions.", p.rules.Permissions)
	for _, name := range slices.Sorted(maps.Keys(p.rules.Agents)) {
		add("agents."+name+".", p.rules.Agents[name])
	}
	return out
}
