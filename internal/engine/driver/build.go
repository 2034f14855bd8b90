package driver

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/ir"
)

// Build checks a program and generates its IR, which contains the required parts of the manifest.
// The program is nil if there are errors. The result depends only on the sources, not on the
// working directory or the location of the project.
func Build(in *Input) (*ir.Program, diag.List) {
	checked, l := in.sound()
	if checked == nil {
		return nil, l
	}
	p, found := in.generateCode(checked)
	l.Append(found)
	if p == nil {
		return nil, l
	}
	if m := in.Manifest; m != nil && m.Permissions != nil {
		granted := m.Permissions
		p.Permissions = &ir.Permissions{FS: granted.FS, Env: granted.Env, Net: granted.Net, Run: granted.Run, Open: unrestrictedKinds(granted),
			ToolsLimited: granted.Tools != nil, Tools: granted.Tools, Approve: granted.Approve}
	}
	if in.Manifest != nil {
		for _, q := range in.Manifest.Merges {
			p.Merges = append(p.Merges, ir.MergeQueue{Name: q.Name, Config: q.Config})
		}
		p.Audit, p.Run, p.Workspace = in.Manifest.Audit.File, in.Manifest.Run.Config, in.Manifest.Workspace.Config
	}
	for i := range p.Files {
		if name, ours := in.names[p.Files[i].Name]; ours {
			p.Files[i].Name = name
		}
	}
	return p, l
}

// unrestrictedKinds returns the kinds of permissions for which [permissions] has no entry, so that
// they are not restricted.
func unrestrictedKinds(granted *manifest.Permissions) (kinds []string) {
	if granted.Default == "deny" {
		return nil
	}
	for kind, names := range map[string][]string{"env": granted.Env, "fs": granted.FS, "net": granted.Net} {
		if names == nil {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// gateKeys are the keys of a host or of [workspace] about its gate.
type gateKeys struct {
	Gate        [][]string `json:"gate,omitempty"`
	GateTimeout float64    `json:"gate_timeout,omitempty"`
}

// or returns the keys of a host, with those of [workspace] that it does not set.
func (g gateKeys) or(workspace json.RawMessage) gateKeys {
	var all gateKeys
	if workspace != nil {
		if err := json.Unmarshal(workspace, &all); err != nil {
			panic(err) // the manifest's reader has checked the types
		}
	}
	if g.Gate == nil {
		g.Gate = all.Gate
	}
	g.GateTimeout = cmp.Or(g.GateTimeout, all.GateTimeout)
	return g
}

// withGate returns the configuration of a host with the gate of [workspace], if it has none.
func withGate(host, workspace json.RawMessage) json.RawMessage {
	var own gateKeys
	if err := json.Unmarshal(host, &own); err != nil {
		panic(err) // the manifest's reader has checked the types
	}
	all := own.or(workspace)
	if len(all.Gate) == 0 || own.Gate != nil && own.GateTimeout == all.GateTimeout {
		return host
	}
	return withKeys(host, all)
}

// withKeys returns the keys of a section with the keys of changed.
func withKeys(section json.RawMessage, changed any) json.RawMessage {
	keys := map[string]json.RawMessage{}
	text, err := json.Marshal(changed)
	for _, x := range []json.RawMessage{section, text} {
		err = errors.Join(err, json.Unmarshal(x, &keys))
	}
	merged, encoding := json.Marshal(keys)
	if err = errors.Join(err, encoding); err != nil {
		panic(err) // the manifest's reader has encoded the section
	}
	return merged
}

// withWorkspace returns the configuration of a host with the keys of [workspace] that it does not
// replace, if its exchanges have worktrees.
func withWorkspace(host, all json.RawMessage) json.RawMessage {
	var config map[string]json.RawMessage
	if all == nil || json.Unmarshal(host, &config) != nil || string(config["isolate"]) != `"worktree"` {
		return host
	}
	keys := map[string]json.RawMessage{}
	for _, section := range []json.RawMessage{all, config["workspace"]} {
		_ = json.Unmarshal(section, &keys) // the manifest has encoded the sections; the second one may be missing
	}
	delete(keys, "repo") // the worktree is of the repository of the host's working directory
	delete(keys, "gate") // of merges
	delete(keys, "gate_timeout")
	return withKeys(host, map[string]any{"workspace": keys})
}

// embedded returns the parts of the manifest that the IR contains.
func (in *Input) embedded() codegen.ManifestData {
	m, d := in.Manifest, in.chosen
	if m == nil {
		return d
	}
	if m.Limits.Config != nil {
		if err := json.Unmarshal(m.Limits.Config, &d.Limits); err != nil {
			panic(err) // the manifest's reader has checked the types
		}
	}
	for _, c := range m.Connections {
		d.Connections = append(d.Connections, ir.Connection{Name: c.Name, Config: c.Embedded(in.Scripts[c.Name], m.Origin(c))})
	}
	for _, h := range m.Hosts {
		d.Hosts = append(d.Hosts, codegen.ManifestHost{Section: h.Name, Params: h.Params, Config: withGate(withWorkspace(h.Config, m.Workspace.Config), m.Workspace.Config)})
	}
	for _, s := range m.MCP {
		d.Servers = append(d.Servers, ir.Server{Name: s.Name, Config: s.Config})
	}
	for _, t := range m.Tools {
		d.AppTools = append(d.AppTools, ir.AppTool{Name: t.Name, Config: t.Config})
	}
	return d
}
