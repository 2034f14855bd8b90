package driver

import (
	"encoding/json"
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
	merged, err := json.Marshal(keys)
	if err != nil {
		panic(err) // the keys were decoded
	}
	config["workspace"] = merged
	if host, err = json.Marshal(config); err != nil {
		panic(err)
	}
	return host
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
		d.Hosts = append(d.Hosts, codegen.ManifestHost{Section: h.Name, Params: h.Params, Config: withWorkspace(h.Config, m.Workspace.Config)})
	}
	for _, s := range m.MCP {
		d.Servers = append(d.Servers, ir.Server{Name: s.Name, Config: s.Config})
	}
	for _, t := range m.Tools {
		d.AppTools = append(d.AppTools, ir.AppTool{Name: t.Name, Config: t.Config})
	}
	return d
}
