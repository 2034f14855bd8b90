package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/driver/programcache"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// ToolSources specifies tools of an application that are not written in Go
// (spec/21-application-tools.md).
type ToolSources struct {
	// Files are paths of files with tool definitions. Modules are paths of programs; each function
	// with @describe in a public tool is a tool named Tool_function. Relative paths start at Dir;
	// "" means the working directory.
	Files, Modules []string
	Dir            string
	// Program, if not nil, is the program that will use the tools. Other tools may not have the
	// names of the tools in its manifest, and may use the servers in its [mcp] sections. The tools
	// in its manifest are checked, but not registered, because a run of the program registers them.
	Program *Program
	// Manifest registers the tools and servers of the nearest manifest, for callers that run no
	// program.
	Manifest bool
	// Static omits everything that would start a process. The tools of MCP servers are then unknown
	// and are not included.
	Static bool
	// Tests loads the tools for tests, which use nothing outside the process. MCP servers are not
	// called, and programs that implement tools have no models, hosts or network.
	Tests bool
	// Around contains the options for programs and servers that implement tools. Only Environ,
	// Executable, WorkDir, Log and LogLevel are used.
	Around Options
	// Seen, if not nil, is called with the path of each file of the programs that implement tools.
	Seen func(path string)
}

// ToolSet contains loaded tools. Close stops the servers and programs that implement them.
type ToolSet struct {
	owned  []ownedTools
	shared *toolShare
	at     *tool.Registry // registry that contains the tools; nil before Register
}

// ownedTools are the tools that are registered under the name of one owner.
type ownedTools struct {
	owner string
	tools []tool.Definition
}

// LoadTools loads and checks tools. The list contains all errors in files of tools and in programs
// that implement tools; if there are errors, the set is nil. The error is an error of reading a
// file, and names it.
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

// CheckWith is like Check, and also checks the tools of the program's manifest and of s. It starts
// no process. A check without tools whose result has no errors is cached like a compiled program.
func CheckWith(ctx context.Context, of driver.Request, s ToolSources) (diag.List, error) {
	hasOthers := len(s.Files)+len(s.Modules) > 0
	key, isCached := programcache.Key(of, programcache.Check)
	isCached = isCached && !hasOthers
	if isCached {
		if cached, ok := programcache.Load(of.Programs, key); ok {
			notifyCached(of, cached)
			return cached.Found.List, nil
		}
	}
	in, err := driver.Load(of)
	if err != nil {
		return diag.List{}, err
	}
	found := driver.CheckEntry(in)
	if !hasOthers && (in.Manifest == nil || len(in.Manifest.Tools) == 0 || in.Diagnostics.HasErrors()) {
		if isCached && !found.HasErrors() {
			storeCompiled(of, key, in, nil, found)
		}
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

// Register adds all tools to a registry. Their owners are file:PATH, module:PATH and manifest.
// After an error, no tool is registered.
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

// Close removes the tools from the registry and stops the servers and programs that implement them.
// All sessions must have ended.
func (t *ToolSet) Close() error {
	for _, o := range t.owned {
		if t.at != nil {
			t.at.As(o.owner).Clear()
		}
	}
	return t.shared.Close()
}

// CallTool calls a tool of o.Tools in the session o.Session, without a program. The answers of o
// decide about approvals. The error is the reason why no tool was called; a failure of the tool is
// a Result.
func CallTool(ctx context.Context, o Options, name string, args json.RawMessage) (tool.Result, error) {
	var r tool.Result
	p := &Program{ir: &ir.Program{Name: "tools", Entry: -1}, root: o.WorkDir}
	err := p.inRun(ctx, &o, func(x *run) error {
		r = x.world.CallTool(ctx, tool.Ask{Name: name, Args: args})
		return nil
	})
	return r, err
}
