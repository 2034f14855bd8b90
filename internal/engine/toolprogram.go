package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// moduleOf compiles a program whose functions are tools, or returns the module if it was compiled
// before. It adds errors in the source to d.found and passes other errors to report.
func (d *definer) moduleOf(path, shown string, report func(format string, args ...any)) *module {
	if m := d.shared.modules[path]; m != nil {
		return m
	}
	if filepath.Ext(path) != driver.SourceExt {
		report("`%s` is not a Concerto program: its name must end with %s", shown, driver.SourceExt)
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		report("could not read program `%s`: %v", shown, userfile.Cause(err))
		return nil
	}
	dir, err := os.Getwd()
	if d.around.WorkDir != "" {
		dir, err = d.around.WorkDir, nil
	}
	if err != nil {
		report("%v", err)
		return nil
	}
	request := driver.Request{Path: path, Dir: dir, Called: true, Seen: d.seen, Packages: driver.PackageSource{Fetch: fetchPackages}}
	if rel, err := filepath.Rel(dir, path); err == nil {
		request.Path = rel // messages contain this path
	}
	in, err := driver.Load(request)
	if err != nil {
		report("%v", err)
		return nil
	}
	p, found := driver.Build(in)
	d.found.Append(found)
	if p == nil {
		return nil
	}
	program := &Program{ir: p, root: in.Root, manifest: in.Manifest}
	inspected, err := vm.New(vm.Config{Program: p, Natives: stdlib.Native})
	if err != nil {
		report("could not load program `%s`: %v", shown, err)
		return nil
	}
	m := &module{program: program, inspected: inspected, around: d.around, running: map[string]*moduleRun{}}
	d.shared.modules[path] = m
	return m
}

// module returns a tool definition for each function of a program that has `@describe` and belongs
// to a `pub tool`.
func (d *definer) module(name, dir string) ([]tool.Definition, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, filepath.FromSlash(name))
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("could not find %s: %w", name, err)
	}
	m := d.moduleOf(path, name, func(format string, args ...any) { err = fmt.Errorf(format, args...) })
	if m == nil {
		return nil, err
	}
	offers, _ := m.inspected.Offers()
	var out []tool.Definition
	for _, o := range offers {
		if o.Pipeline == "" {
			spec := tool.Spec{Name: o.Name, Description: o.Description, Parameters: o.Parameters, Scope: tool.PerSession}
			out = append(out, m.definition(spec, o.Function))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s offers no tools: it has no `pub tool` with a function that has `@describe`", name)
	}
	return out, nil
}

// programTool creates a tool that calls a function of a program.
func (d *definer) programTool(t *manifest.Tool, form *toolForm, dir string) (x tool.Definition, ok bool) {
	path := filepath.FromSlash(form.Concerto.File)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		d.broken = append(d.broken, err)
		return x, false
	}
	m := d.moduleOf(path, form.Concerto.File, func(format string, args ...any) {
		d.wrong(t, "concerto.file", diag.ToolSource, format, args...).Hint("the path is relative to the directory of this file")
	})
	if m == nil {
		return x, false
	}
	o, problem := m.inspected.Function(form.Concerto.Function)
	switch {
	case o.Function == "":
		d.wrong(t, "concerto.function", diag.ToolSource, "`%s` has no function `%s`", form.Concerto.File, form.Concerto.Function).Hint("%s", problem)
		return x, false
	case problem != "":
		d.wrong(t, "concerto.function", diag.ToolSource, "function `%s` cannot be a tool: %s", form.Concerto.Function, problem).Hint("use parameter types that JSON can represent")
		return x, false
	}
	spec := form.Spec
	if spec.Description == "" {
		spec.Description = o.Description
	}
	if spec.Description == "" {
		d.wrong(t, "concerto.function", diag.ToolMissing, "function `%s` has no description", form.Concerto.Function).Hint("add `@describe(\"…\")` or a doc comment to the function, or `description` here")
		return x, false
	}
	spec.Parameters = o.Parameters
	return m.definition(spec, o.Function), true
}

// definition returns the tool that calls a function of the module.
func (m *module) definition(spec tool.Spec, function string) tool.Definition {
	d := spec.With(nil).ForTests()
	if spec.Scope != tool.PerSession {
		d.Handler = func(ctx context.Context, input json.RawMessage, c *tool.Context) (tool.Result, error) {
			return m.callFunction(ctx, ofProcess, function, input, c)
		}
		return d
	}
	d.Open = func(ctx context.Context, c *tool.Context) (tool.Handler, io.Closer, error) {
		session := "session " + c.SessionID
		if err := m.acquire(ctx, session, c); err != nil {
			return nil, nil, err
		}
		handler := func(ctx context.Context, input json.RawMessage, c *tool.Context) (tool.Result, error) {
			return m.callFunction(ctx, session, function, input, c)
		}
		return handler, closer(func() error { return m.release(session) }), nil
	}
	return d
}
