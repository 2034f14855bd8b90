package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// ToolSources names the sources of an application's tools that are not written in Go
// (spec/21-application-tools.md).
type ToolSources struct {
	// Files are files of tools. Modules are programs: each function with @describe of their public
	// tools is a tool, Tool_function. Relative paths start at Dir; "" is the working directory.
	Files, Modules []string
	Dir            string
	// Program, if not nil, is the program that the tools are for: its own tools, [tools] in its
	// manifest, are checked too and must have other names, and tools may use its [mcp] servers. Its
	// tools are not registered, because a run does that itself.
	Program *Program
	// Manifest registers the tools and servers of the nearest manifest, for callers that run no
	// program.
	Manifest bool
	// Static omits everything that would start a process: the tools of MCP servers are then unknown
	// and not included.
	Static bool
	// Tests means that the tools are for tests, which reach nothing outside: servers are not
	// queried, and programs that answer as tools have no models, hosts or network.
	Tests bool
	// Around is what programs and servers receive from outside: Environ, Executable, WorkDir, Log
	// and LogLevel are used.
	Around Options
	// Seen, if not nil, receives each file of the programs that the tools name.
	Seen func(path string)
}

// ToolSet contains the tools of ToolSources. Close ends what they share.
type ToolSet struct {
	owned  []ownedTools
	shared *toolShare
	at     *tool.Registry // where they are registered
}

// ownedTools are the tools of one owner.
type ownedTools struct {
	owner string
	tools []tool.Definition
}

// LoadTools loads and checks tools. The Diagnostics are all errors in files of tools and in
// programs that tools name; with errors the set is nil. The Go error names a file that cannot be
// read.
func LoadTools(ctx context.Context, s ToolSources) (*ToolSet, diag.List, error) {
	if s.Tests {
		s.Around = hermetic(s.Around)
	}
	l := &toolLoader{sources: &s, definer: newDefiner(ctx, s.Around, s.Static)}
	l.definer.tests, l.definer.seen = s.Tests, s.Seen
	err := l.loadTools()
	if err == nil {
		err = errors.Join(l.definer.broken...)
	}
	if err != nil || l.definer.found.HasErrors() {
		return nil, l.definer.found, errors.Join(err, l.definer.shared.Close())
	}
	return &ToolSet{owned: l.owned, shared: l.definer.shared}, l.definer.found, nil
}

// CheckWith is like Check with the application's tools: those of the program's manifest and of s.
// It starts no process.
func CheckWith(ctx context.Context, of driver.Request, s ToolSources) (diag.List, error) {
	in, err := driver.Load(of)
	if err != nil {
		return diag.List{}, err
	}
	found := driver.CheckEntry(in)
	if len(s.Files)+len(s.Modules) == 0 && (in.Manifest == nil || len(in.Manifest.Tools) == 0 || in.Diagnostics.HasErrors()) {
		return found, nil
	}
	if s.Static = true; !in.Diagnostics.HasErrors() {
		s.Program = &Program{ir: &ir.Program{}, root: in.Root, manifest: in.Manifest}
	}
	set, more, err := LoadTools(ctx, s)
	found.Append(more)
	if set != nil {
		err = set.Close()
	}
	return found, err
}

// Register adds all tools to a registry, under the owners file:PATH, module:PATH and manifest, or
// none.
func (t *ToolSet) Register(to *tool.Registry) error {
	for i, o := range t.owned {
		if err := to.As(o.owner).Register(o.tools...); err != nil {
			for _, done := range t.owned[:i] {
				to.As(done.owner).Clear()
			}
			return err
		}
	}
	t.at = to
	return nil
}

// Close removes the tools, and ends the servers and programs that they share. Sessions must have
// ended.
func (t *ToolSet) Close() error {
	for _, o := range t.owned {
		if t.at != nil {
			t.at.As(o.owner).Clear()
		}
	}
	return t.shared.Close()
}

// CallTool calls one of o.Tools in o.Session without a program. Approvals are requested from o's
// answers. The error is the reason why no tool was called; a tool's failure is a result.
func CallTool(ctx context.Context, o Options, name string, args json.RawMessage) (tool.Result, error) {
	var r tool.Result
	p := &Program{ir: &ir.Program{Name: "tools", Entry: -1}, root: o.WorkDir}
	err := p.inWorld(ctx, &o, func(world *runtime.Runtime, _ *following) error {
		r = world.CallTool(ctx, tool.Ask{Name: name, Args: args})
		return nil
	})
	return r, err
}
