package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// toolForm is the definition of a tool in files, the manifest and compiled programs. Exactly one of
// its four handlers is set.
type toolForm struct {
	tool.Spec
	Command  *tool.Command `json:"command"`
	HTTP     *tool.HTTP    `json:"http"`
	MCP      *remoteTool   `json:"mcp"`
	Concerto *programTool  `json:"concerto"`
}

// remoteTool is a handler that calls a tool of an MCP server.
type remoteTool struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// programTool is a handler that calls a function of a program.
type programTool struct {
	File     string `json:"file"`
	Function string `json:"function"`
}

// definer creates tools from their definitions and collects the errors.
type definer struct {
	ctx     context.Context
	around  Options           // options for programs and servers that implement tools
	static  bool              // do not start processes
	session bool              // all tools belong to one session
	tests   bool              // do not call MCP servers
	seen    func(path string) // called with the path of each file of a program; may be nil
	shared  *toolShare
	found   diag.List
	broken  []error // errors of tools whose definitions have no file
}

func newDefiner(ctx context.Context, around Options, static bool) *definer {
	return &definer{ctx: ctx, around: around, static: static, shared: newToolShare(around.Executable)}
}

// wrong reports an error in a tool's definition, at the position of a key. If the key does not
// exist, the position is that of the nearest enclosing key.
func (d *definer) wrong(t *manifest.Tool, key string, kind *diag.Info, format string, args ...any) *diag.Diagnostic {
	span, ok := source.Span{}, false
	for ; key != "" && !ok; key = key[:max(0, strings.LastIndexByte(key, '.'))] {
		var p manifest.Place
		if p, ok = t.At[key]; ok {
			span = p.Value
		}
	}
	if !ok {
		span = t.Place
	}
	x := kind.At(span, format, args...).In(t.File)
	if t.File == nil {
		d.broken = append(d.broken, fmt.Errorf("[tools.%s]: %s", t.Name, x.Message))
		return x
	}
	d.found.Add(x)
	return x
}

// tools creates the tools with these definitions. Relative paths start at dir. servers lists the
// MCP servers that definitions may name, and perform calls them.
func (d *definer) tools(all []*manifest.Tool, dir string, perform effect.Performer, servers []mcpport.Config) []tool.Definition {
	var out []tool.Definition
	for _, t := range all {
		var form toolForm
		if err := json.Unmarshal(t.Config, &form); err != nil {
			d.wrong(t, "", diag.ToolValue, "could not read tool `%s`: %v", t.Name, err).Hint("`concerto doc manifest` lists the keys")
			continue
		}
		if form.Name = t.Name; d.session {
			form.Scope = tool.PerSession
		}
		if x, ok := d.tool(t, &form, dir, perform, servers); ok {
			out = append(out, x)
		}
	}
	return out
}

// tool creates one tool. ok is false if the definition has an error, which was reported, or if the
// tool is omitted.
func (d *definer) tool(t *manifest.Tool, form *toolForm, dir string, perform effect.Performer, servers []mcpport.Config) (x tool.Definition, ok bool) {
	var err error
	switch {
	case form.Command != nil:
		if !d.checkFile(t, form.Command, dir) {
			return x, false
		}
		x, err = form.Command.Definition(form.Spec, dir)
	case form.HTTP != nil:
		x, err = form.HTTP.Definition(form.Spec, dir)
	case form.MCP != nil:
		return d.remote(t, form, perform, servers)
	case form.Concerto != nil:
		return d.programTool(t, form, dir)
	default:
		d.wrong(t, "", diag.ToolHandler, "tool `%s` has no handler", t.Name).Hint("add one of `command`, `http`, `mcp` and `concerto`")
		return x, false
	}
	for _, e := range definitionErrors(err) {
		d.wrong(t, strings.ReplaceAll(strings.TrimPrefix(e.Pointer, "/"), "/", "."), diag.ToolValue, "`%s%s` %s", t.Name, strings.ReplaceAll(e.Pointer, "/", "."), e.Why).Hint("`concerto doc manifest` lists the allowed values")
	}
	return x, err == nil
}

// checkFile reports whether the executable of a command exists, if it is a path.
func (d *definer) checkFile(t *manifest.Tool, c *tool.Command, dir string) bool {
	if len(c.Run) == 0 || !strings.ContainsRune(c.Run[0], '/') {
		return true
	}
	path := c.Run[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, filepath.FromSlash(path))
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		d.wrong(t, "command.run", diag.ToolSource, "could not find command `%s`: %v", c.Run[0], userfile.Cause(err)).Hint("a command with a slash is a path relative to the directory of this file")
	case info.IsDir():
		d.wrong(t, "command.run", diag.ToolSource, "command `%s` is a directory", c.Run[0]).Hint("write the path of a file")
	default:
		return true
	}
	return false
}

// definitionErrors returns the errors in a definition that err contains.
func definitionErrors(err error) []*tool.DefinitionError {
	var all interface{ Unwrap() []error }
	var one *tool.DefinitionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &one) && !errors.As(err, &all):
		return []*tool.DefinitionError{one}
	case errors.As(err, &all):
		var out []*tool.DefinitionError
		for _, e := range all.Unwrap() {
			out = append(out, definitionErrors(e)...)
		}
		return out
	}
	return []*tool.DefinitionError{{Why: err.Error()}}
}

// remote creates a tool that calls a tool of an MCP server.
func (d *definer) remote(t *manifest.Tool, form *toolForm, perform effect.Performer, servers []mcpport.Config) (x tool.Definition, ok bool) {
	at := slices.IndexFunc(servers, func(c mcpport.Config) bool { return c.Name == form.MCP.Server })
	if at < 0 {
		h := d.wrong(t, "mcp.server", diag.ToolSource, "unknown MCP server `%s`", form.MCP.Server)
		if near := nearest(form.MCP.Server, servers); near != "" {
			h.Hint("did you mean `%s`?", near)
		} else {
			h.Hint("declare it below `mcp` in this file, or as [mcp.%s] in Concerto.toml", form.MCP.Server)
		}
		return x, false
	}
	if d.static {
		return x, false
	}
	if d.tests { // tests mock the tool
		return form.With(remoteHandler(perform, form.MCP)), true
	}
	offered, err := listRemote(d.ctx, perform, form.MCP.Server)
	if err != nil {
		d.wrong(t, "mcp.server", diag.ToolSource, "could not list the tools of MCP server `%s`: %v", form.MCP.Server, err).Hint("run its command in a terminal to see its output")
		return x, false
	}
	at = slices.IndexFunc(offered, func(o offeredTool) bool { return o.Name == form.MCP.Tool })
	if at < 0 {
		var names []string
		for _, o := range offered {
			names = append(names, o.Name)
		}
		d.wrong(t, "mcp.tool", diag.ToolSource, "MCP server `%s` has no tool `%s`", form.MCP.Server, form.MCP.Tool).Hint("its tools are %s", strings.Join(names, ", "))
		return x, false
	}
	if form.Parameters = offered[at].Parameters; form.Description == "" {
		form.Description = offered[at].Description
	}
	return form.With(remoteHandler(perform, form.MCP)), true
}
