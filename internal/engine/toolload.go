package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// toolLoader creates a ToolSet.
type toolLoader struct {
	sources *ToolSources
	definer *definer
	owned   []ownedTools
	all     [][]*manifest.Tool // definitions by file
}

func (l *toolLoader) loadTools() error {
	s := l.sources
	servers, err := l.own()
	if err != nil {
		return err
	}
	for _, name := range s.Files {
		if err := l.loadFile(name, servers); err != nil {
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

// own loads the tools of the program, or of the nearest manifest. It returns the MCP servers of the
// same manifest.
func (l *toolLoader) own() ([]mcpport.Config, error) {
	s := l.sources
	var own []*manifest.Tool
	var servers []mcpport.Config
	root := ""
	switch {
	case s.Program != nil:
		var err error
		if servers, err = s.Program.servers(); err != nil {
			return nil, err
		}
		own, root = s.Program.ownTools(), s.Program.root
	case s.Manifest:
		p, err := driver.ReadProject(s.Dir)
		if broken, is := errors.AsType[*driver.DiagnosticsError](err); is {
			l.definer.found.Append(broken.Found)
			return nil, nil
		}
		if err != nil || p == nil {
			return nil, err
		}
		own, root = p.Manifest.Tools, p.Root
		if servers, err = serversOf(p.Manifest.MCP, root); err != nil {
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
	definer := *l.definer // a copy, because a program's own servers are queried only by its run
	definer.static = definer.static || s.Program != nil
	tools := definer.tools(own, root, perform, servers)
	l.definer.found, l.definer.broken = definer.found, definer.broken
	if s.Program == nil {
		l.owned = append(l.owned, ownedTools{tool.OwnerManifest, tools})
	}
	return servers, nil
}

// loadFile loads a file of tools. Its tools may also use the servers in more.
func (l *toolLoader) loadFile(name string, more []mcpport.Config) error {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.sources.Dir, filepath.FromSlash(name))
	}
	text, err := readToolFile(path)
	if err != nil {
		return fmt.Errorf("could not read %s: %w", name, userfile.Cause(err))
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("could not find %s: %w", name, err)
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
	servers = append(servers, more...) // if two servers have the same name, the first is used
	tools := l.definer.tools(f.Tools, filepath.Dir(path), l.definer.shared.servers(l.definer, servers), servers)
	l.owned = append(l.owned, ownedTools{"file:" + name, tools})
	return nil
}

// readToolFile reads a file of tools. It stops after one byte more than the size limit.
func readToolFile(path string) ([]byte, error) {
	f, err := userfile.Open(path, userfile.Unlimited)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, manifest.MaxToolFile+1))
}

// clashes reports names that two tools have, if one is a tool of a program. Duplicates in files
// were already reported with their positions.
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

// serversOf returns the servers of [mcp] sections. Relative paths start at dir.
func serversOf(sections []*manifest.MCP, dir string) ([]mcpport.Config, error) {
	var out []mcpport.Config
	for _, x := range sections {
		c, err := mcpport.ParseConfig(x.Name, x.Config, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// servers returns the MCP servers of the program's manifest.
func (p *Program) servers() ([]mcpport.Config, error) {
	if p.manifest != nil {
		return serversOf(p.manifest.MCP, p.root)
	}
	parties, err := p.parties(p.root)
	return parties.Servers, err
}

// ownTools returns the definitions of the tools in the program's manifest. For a loaded program,
// the definitions have no file.
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

// HasTools reports whether the program's manifest contains tools ([tools.X]).
func (p *Program) HasTools() bool { return len(p.ir.AppTools) > 0 }

// reserve registers the names of a program's tools, so that other tools cannot use them.
func (p *Program) reserve(all *tool.Registry) error {
	if p == nil || p.manifest != nil {
		return nil
	}
	var own []tool.Definition
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

// compiledTool converts a tool of a compiled program to the form of the manifest.
func compiledTool(x ir.AppTool) *manifest.Tool {
	return &manifest.Tool{Name: x.Name, Config: x.Config}
}
