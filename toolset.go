package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/driver"
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/manifest"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// ToolSources say which tools an application has besides those that are written in Go
// (spec/21-application-tools.md).
type ToolSources struct {
	// Files are files of tools. Modules are programs: each function with @describe of their
	// public tools is a tool, Tool_function. Relative paths start at Dir; "" is the working
	// directory.
	Files, Modules []string
	Dir            string
	// Program is the one that the tools are for: its own, of [tools] in its manifest, are
	// checked too, must have other names, and its [mcp] servers may be named. They are not
	// registered: a run does that itself. nil: none is known.
	Program *Program
	// Manifest has the tools and servers of the manifest here or above registered, for who
	// runs no program.
	Manifest bool
	// Static leaves out what would start a process: what tools MCP servers have is then not
	// known, and theirs are not among the tools.
	Static bool
	// Tests says that the tools are for tests, which reach nothing outside: no server is asked
	// what it has, and programs that answer as tools get no models, hosts or network.
	Tests bool
	// Around is what programs and servers get from outside: Environ, Executable, WorkDir, Log
	// and LogLevel count.
	Around Options
}

// ToolSet is the tools of ToolSources. Close ends what they share.
type ToolSet struct {
	owned  []ownedTools
	shared *toolShare
}

// ownedTools are the tools of an owner.
type ownedTools struct {
	owner string
	tools []Tool
}

// LoadTools reads and checks tools. The Diagnostics are all mistakes in files of tools and
// in programs that tools name; with errors the set is nil. The Go error says which file
// cannot be read.
func LoadTools(ctx context.Context, s ToolSources) (*ToolSet, Diagnostics, error) {
	if s.Tests {
		s.Around = hermetic(s.Around)
	}
	l := &toolLoader{sources: &s, definer: newDefiner(ctx, s.Around, s.Static)}
	l.definer.tests = s.Tests
	err := l.load()
	if err == nil {
		err = errors.Join(l.definer.broken...)
	}
	if err != nil || l.definer.found.HasErrors() {
		return nil, l.definer.found, errors.Join(err, l.definer.shared.Close())
	}
	return &ToolSet{l.owned, l.definer.shared}, l.definer.found, nil
}

// CheckTools checks the tools of the manifest beside a program, and those of s. No process is
// started.
func CheckTools(ctx context.Context, of Source, s ToolSources) (Diagnostics, error) {
	in, err := driver.Load(of)
	if err != nil {
		return Diagnostics{}, err
	}
	if len(s.Files)+len(s.Modules) == 0 && (in.Manifest == nil || len(in.Manifest.Tools) == 0 || in.Diagnostics.HasErrors()) {
		return Diagnostics{}, nil
	}
	if s.Static = true; !in.Diagnostics.HasErrors() {
		s.Program = &Program{ir: &ir.Program{}, root: in.Root, manifest: in.Manifest}
	}
	set, found, err := LoadTools(ctx, s)
	if set != nil {
		err = set.Close()
	}
	return found, err
}

// Register adds the tools to a registry, under the owners file:PATH, module:PATH and
// manifest; all or none.
func (t *ToolSet) Register(to *ToolRegistry) error {
	for i, o := range t.owned {
		if err := to.As(o.owner).Register(o.tools...); err != nil {
			for _, done := range t.owned[:i] {
				to.As(done.owner).Clear()
			}
			return err
		}
	}
	return nil
}

// Close ends the servers and programs that tools share. Sessions must have ended.
func (t *ToolSet) Close() error { return t.shared.Close() }

// CallTool calls one of o.Tools as o.Session says, without a program. What needs approval is
// asked of o's answers. The error says why nothing was called; a tool's failure is a result.
func CallTool(ctx context.Context, o Options, name string, args json.RawMessage) (ToolResult, error) {
	var r ToolResult
	p := &Program{ir: &ir.Program{Name: "tools", Entry: -1}, root: o.WorkDir}
	err := p.inWorld(ctx, &o, func(world *runtime.Runtime, _ *following) error {
		r = world.CallTool(ctx, tool.Ask{Name: name, Args: args})
		return nil
	})
	return r, err
}

// toolLoader makes a ToolSet.
type toolLoader struct {
	sources *ToolSources
	definer *definer
	owned   []ownedTools
	all     [][]*manifest.Tool // of each file
}

func (l *toolLoader) load() error {
	s := l.sources
	servers, err := l.own()
	if err != nil {
		return err
	}
	for _, name := range s.Files {
		if err := l.file(name, servers); err != nil {
			return err
		}
	}
	l.definer.found.Append(manifest.Clashes(l.all...))
	for _, name := range s.Modules {
		tools, err := l.definer.module(name, s.Dir)
		if err != nil {
			return err
		}
		l.owned = append(l.owned, ownedTools{"module:" + name, tools})
	}
	return l.clashes()
}

// own takes the tools of the program, or of the manifest here, and gives its servers.
func (l *toolLoader) own() ([]mcp.Config, error) {
	s := l.sources
	var own []*manifest.Tool
	var servers []mcp.Config
	root := ""
	switch {
	case s.Program != nil:
		var err error
		if servers, err = s.Program.servers(); err != nil {
			return nil, err
		}
		own, root = s.Program.ownTools(), s.Program.root
	case s.Manifest:
		m, dir, err := l.manifest()
		if err != nil || m == nil {
			return nil, err
		}
		if own, root = m.Tools, dir; l.definer.found.HasErrors() {
			own = nil
		}
		if servers, err = serversOf(m.MCP, dir); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	l.all = append(l.all, own)
	var perform effect.Performer
	if s.Program == nil {
		perform = l.definer.shared.servers(l.definer, servers)
	}
	definer := *l.definer // the program's run lists the servers' tools
	definer.static = definer.static || s.Program != nil
	tools := definer.tools(own, root, perform, servers)
	l.definer.found, l.definer.broken = definer.found, definer.broken
	if s.Program == nil {
		l.owned = append(l.owned, ownedTools{tool.OwnerManifest, tools})
	}
	return servers, nil
}

// manifest reads the manifest here or above; nil without one.
func (l *toolLoader) manifest() (*manifest.Manifest, string, error) {
	dir, err := filepath.Abs(l.sources.Dir)
	if err != nil {
		return nil, "", fmt.Errorf("find the directory %s: %w", l.sources.Dir, err)
	}
	path, ok := manifest.Locate(dir, func(p string) bool {
		info, err := os.Stat(p)
		return err == nil && !info.IsDir()
	})
	if !ok {
		return nil, "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	shown, err := filepath.Rel(dir, path)
	if err != nil {
		shown = path
	}
	m, found := manifest.Parse(source.NewFile(filepath.ToSlash(shown), text))
	l.definer.found.Append(found)
	return m, filepath.Dir(path), nil
}

// file takes the tools of a file of tools.
func (l *toolLoader) file(name string, more []mcp.Config) error {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.sources.Dir, filepath.FromSlash(name))
	}
	text, err := readToolFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, cause(err))
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	f, found := manifest.ParseTools(source.NewFile(filepath.ToSlash(name), text))
	l.definer.found.Append(found)
	l.all = append(l.all, f.Tools)
	if found.HasErrors() {
		return nil
	}
	servers, err := serversOf(f.MCP, filepath.Dir(path))
	if err != nil {
		return err
	}
	servers = append(servers, more...) // the first of a name counts
	tools := l.definer.tools(f.Tools, filepath.Dir(path), l.definer.shared.servers(l.definer, servers), servers)
	l.owned = append(l.owned, ownedTools{"file:" + name, tools})
	return nil
}

// readToolFile reads a file of tools, and no more of it than it may have, and a byte.
func readToolFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, manifest.MaxToolFile+1))
}

// cause is an error of package os without the path, which the message names.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// clashes finds tools of programs that others are already; those of files have been
// reported with their places.
func (l *toolLoader) clashes() error {
	if l.definer.found.HasErrors() || len(l.definer.broken) > 0 {
		return nil
	}
	var all tool.Registry
	if err := l.sources.Program.reserve(&all); err != nil {
		return err
	}
	for _, o := range l.owned {
		if err := all.As(o.owner).Register(o.tools...); err != nil {
			return err
		}
	}
	return nil
}

// serversOf are the servers of sections of [mcp]; relative paths start at dir.
func serversOf(sections []*manifest.MCP, dir string) ([]mcp.Config, error) {
	var out []mcp.Config
	for _, x := range sections {
		c, err := mcp.ParseConfig(x.Name, x.Config, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// servers are the MCP servers of the program's manifest.
func (p *Program) servers() ([]mcp.Config, error) {
	if p.manifest != nil {
		return serversOf(p.manifest.MCP, p.root)
	}
	parties, err := p.parties(p.root)
	return parties.Servers, err
}

// ownTools are the tools of the program's manifest. Those of a compiled program stand in no
// file.
func (p *Program) ownTools() []*manifest.Tool {
	if p.manifest != nil {
		return p.manifest.Tools
	}
	var out []*manifest.Tool
	for _, x := range p.ir.AppTools {
		out = append(out, compiledTool(x))
	}
	return out
}

// HasTools says whether the program's manifest has tools, [tools.X].
func (p *Program) HasTools() bool { return len(p.ir.AppTools) > 0 }

// reserve registers the names of a compiled program's tools.
func (p *Program) reserve(all *tool.Registry) error {
	if p == nil || p.manifest != nil {
		return nil
	}
	var own []Tool
	for _, x := range p.ir.AppTools {
		var form toolForm
		if err := json.Unmarshal(x.Config, &form); err != nil {
			return fmt.Errorf("[tools.%s]: %w", x.Name, err)
		}
		form.Name = x.Name
		own = append(own, form.With(func(context.Context, json.RawMessage, *tool.Context) (tool.Result, error) { return tool.Result{}, nil }))
	}
	return all.As(tool.OwnerManifest).Register(own...)
}

// compiledTool is a tool as the manifest had it.
func compiledTool(x ir.AppTool) *manifest.Tool {
	return &manifest.Tool{Name: x.Name, Config: x.Config}
}
