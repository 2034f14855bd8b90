package program

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// ToolFlags say which tools the application has: those of files and of programs.
type ToolFlags struct {
	Files   []string
	Modules []string
	seen    func(path string) // for --watch: receives the files of programs that are tools
}

func (f *ToolFlags) Add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.Files, "host-tools", nil, "give agents and hosts the tools of `FILE`, YAML or JSON; repeatable")
	c.Flags().StringArrayVar(&f.Modules, "host-tools-module", nil, "give them the described functions of a program `FILE`; repeatable")
	for flag, endings := range map[string][]string{"host-tools": {"yaml", "yml", "json"}, "host-tools-module": {"conc"}} {
		if err := c.MarkFlagFilename(flag, endings...); err != nil {
			panic(err) // a flag that is not there
		}
	}
}

// Watch reports the files to seen, for --watch, including the files that are read because of them.
func (f *ToolFlags) Watch(a *console.Console, seen func(path string)) {
	f.seen = seen
	for _, file := range slices.Concat(f.Files, f.Modules) {
		if seen != nil {
			seen(a.Abs(file))
		}
	}
}

// ToolSources returns the tools of the flags, for the options o.
func ToolSources(a *console.Console, f *ToolFlags, o *engine.Options) engine.ToolSources {
	around := engine.Options{Environ: a.Environ, Executable: a.Binary.Executable, WorkDir: a.Dir, Log: a.Stderr, LogLevel: a.LogLevel}
	if o != nil {
		around.Kill, around.Allow = o.Kill, o.Allow
	}
	return engine.ToolSources{Files: f.Files, Modules: f.Modules, Dir: a.Dir, Around: around, Seen: f.seen}
}

// RegisterTools registers the tools of the flags for the options o, before a program runs: p, or
// several that are not known (nil). It shows errors in them, and in the program's own [tools], and
// then returns a console.ExitError. end closes the resources that the tools share, after the runs.
func RegisterTools(ctx context.Context, a *console.Console, f *ToolFlags, p *engine.Program, o *engine.Options) (end func(error) error, err error) {
	return RegisterTestTools(ctx, a, f, p, o, false)
}

// RegisterTestTools is RegisterTools; with tests, the tools reach nothing outside.
func RegisterTestTools(ctx context.Context, a *console.Console, f *ToolFlags, p *engine.Program, o *engine.Options, tests bool) (end func(error) error, err error) {
	nothing := func(err error) error { return err }
	if len(f.Files)+len(f.Modules) == 0 && (p == nil || !p.HasTools()) {
		return nothing, nil
	}
	s := ToolSources(a, f, o)
	s.Program, s.Tests = p, tests
	set, err := LoadTools(ctx, a, s)
	if err != nil {
		return nothing, err
	}
	mine := o.Tools == nil && len(f.Files)+len(f.Modules) > 0
	if mine {
		o.Tools = &tool.Registry{}
	}
	end = func(err error) error {
		if mine {
			o.Tools.Close() // which waits for what handlers have begun
		}
		if closing := set.Close(); err == nil {
			err = closing
		}
		return err
	}
	if err := set.Register(o.Tools); err != nil {
		return nothing, console.Usage("give one of them another name, or a version of its own", "%v", end(err))
	}
	return end, nil
}

// LoadTools reads tools and shows what is wrong with them.
func LoadTools(ctx context.Context, a *console.Console, s engine.ToolSources) (*engine.ToolSet, error) {
	set, found, err := engine.LoadTools(ctx, s)
	if shown := a.ShowDiagnostics(found); shown != nil {
		return nil, shown
	}
	if err != nil {
		return nil, console.Usage("`concerto tools check FILE` looks at a file of tools; a module is a program with a `pub tool`", "%v", err)
	}
	return set, nil
}
