package driver

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/manifest"
	"github.com/concerto-lang/concerto/ir"
)

// Build checks a program and generates its IR, including what it needs of the
// manifest. The program is nil when there are errors. It depends on the sources
// only, not on the working directory or on where the project is.
func Build(in *Input) (*ir.Program, diag.List) {
	checked, l := check(in, 0)
	if checked == nil {
		return nil, l
	}
	p, found := in.generate(checked)
	l.Append(found)
	if p == nil {
		return nil, l
	}
	if m := in.Manifest; m != nil && m.Permissions != nil {
		granted := m.Permissions
		p.Permissions = &ir.Permissions{FS: granted.FS, Env: granted.Env, Net: granted.Net, Run: granted.Run,
			ToolsLimited: granted.Tools != nil, Tools: granted.Tools}
	}
	for i := range p.Files {
		if name, ours := in.names[p.Files[i].Name]; ours {
			p.Files[i].Name = name
		}
	}
	return p, l
}

// embedded is what of the manifest goes into the IR.
func (in *Input) embedded() codegen.ManifestData {
	m := in.Manifest
	if m == nil {
		return codegen.ManifestData{}
	}
	d := codegen.ManifestData{Limits: ir.Limits{
		MaxRunSeconds: m.Limits.MaxRunSeconds, MaxMemoryMB: m.Limits.MaxMemoryMB, MaxTokens: m.Limits.MaxTokens, MaxCostUSD: m.Limits.MaxCostUSD, MaxTasks: m.Limits.MaxTasks, MaxTestSeconds: m.Limits.MaxTestSeconds,
	}}
	for _, c := range m.Connections {
		d.Connections = append(d.Connections, ir.Connection{Name: c.Name, Config: c.Config(in.Scripts[c.Name], m.Origin(c))})
	}
	for _, h := range m.Hosts {
		d.Hosts = append(d.Hosts, codegen.ManifestHost{Section: h.Name, Config: hostConfig(h)})
	}
	for _, s := range m.MCP {
		d.Servers = append(d.Servers, ir.Server{Name: s.Name, Transport: s.Transport, Command: s.Command, Args: s.Args, Env: pairs(s.Env),
			URL: s.URL, Headers: pairs(s.Headers), HeadersEnv: pairs(s.HeadersEnv), Timeout: s.Timeout})
	}
	return d
}

func hostConfig(h *manifest.Host) ir.Host {
	c := ir.Host{
		Transport: h.Transport, Command: h.Command, Args: h.Args, Env: pairs(h.Env), WorkingDir: h.WorkingDir,
		InputFormat: h.InputFormat, OutputFormat: h.OutputFormat, Timeout: h.Timeout, QuestionTimeout: h.QuestionTimeout,
		ApprovalDefault: h.ApprovalDefault, Params: h.Params, ParamsEnv: pairs(h.ParamsEnv),
		Instances: int(h.Instances), MaxLine: int(h.MaxLine),
	}
	if h.QuestionDefault != nil {
		text, err := json.Marshal(*h.QuestionDefault)
		if err != nil {
			panic("driver: a string has no JSON: " + err.Error())
		}
		c.QuestionDefault = (*json.RawMessage)(&text)
	}
	return c
}

func pairs(vs []manifest.Variable) []ir.Pair {
	var out []ir.Pair
	for _, v := range vs {
		out = append(out, ir.Pair(v))
	}
	return out
}
