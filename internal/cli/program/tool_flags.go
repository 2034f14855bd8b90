package program

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// ToolFlags are the flags that add tools from tool files and from other programs.
type ToolFlags struct {
	Files   []string
	Modules []string
	seen    func(path string) // for --watch: called with the path of each program that provides tools
}

func (f *ToolFlags) Add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.Files, "host-tools", nil, "give agents and hosts the tools of `FILE`, YAML or JSON; repeatable")
	c.Flags().StringArrayVar(&f.Modules, "host-tools-module", nil, "give them the pub tools of the program `FILE`; repeatable")
	for flag, endings := range map[string][]string{"host-tools": {"yaml", "yml", "json"}, "host-tools-module": {"conc"}} {
		if err := c.MarkFlagFilename(flag, endings...); err != nil {
			panic(err) // the command has no such flag
		}
	}
}

// Watch prepares the flags for --watch. It calls seen with the files that the flags name, and later
// with the files that these files import.
func (f *ToolFlags) Watch(a *console.Console, seen func(path string)) {
	f.seen = seen
	for _, file := range slices.Concat(f.Files, f.Modules) {
		if seen != nil {
			seen(a.Abs(file))
		}
	}
}

// ToolSources returns the tools of the flags. o may be nil.
func ToolSources(a *console.Console, f *ToolFlags, o *engine.Options) engine.ToolSources {
	around := engine.Options{Environ: a.Environ, Executable: a.Binary.Executable, WorkDir: a.Dir, Log: a.Stderr, LogLevel: a.LogLevel}
	if o != nil {
		around.Kill, around.Allow = o.Kill, o.Allow
	}
	return engine.ToolSources{Files: f.Files, Modules: f.Modules, Dir: a.Dir, Around: around, Seen: f.seen}
}

// RegisterTools registers the tools of the flags in o before the program p runs. p is nil if
// several programs will run. If the tools or the program's [tools] contain errors, it prints them
// and returns a console.ExitError. Call end after the runs; it closes the resources that the tools
// share.
func RegisterTools(ctx context.Context, a *console.Console, f *ToolFlags, p *engine.Program, o *engine.Options) (end func(error) error, err error) {
	return RegisterTestTools(ctx, a, f, p, o, false)
}

// RegisterTestTools is RegisterTools for tests if tests is true: the tools then have no effects
// outside the process.
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
			o.Tools.Close() // Close waits for the running handlers
		}
		if closing := set.Close(); err == nil {
			err = closing
		}
		return err
	}
	if err := set.Register(o.Tools); err != nil {
		return nothing, console.Usage("rename one of them, or give it another version", "%v", end(err))
	}
	return end, nil
}

// pythonModule matches a name such as myapp.tools.
var pythonModule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$`) })

// LoadTools reads the tools of s and prints their errors.
func LoadTools(ctx context.Context, a *console.Console, s engine.ToolSources) (*engine.ToolSet, error) {
	for _, name := range s.Modules {
		if pythonModule().MatchString(name) && !strings.HasSuffix(name, ".conc") {
			return nil, console.Usage("for tools in Python, name a FILE of tools with --host-tools, where each has `command: [python3, concerto.py, tool, \""+name+":FUNCTION\"]`",
				"--host-tools-module %s: expected a program FILE.conc, not a Python module", name)
		}
	}
	set, found, err := engine.LoadTools(ctx, s)
	if shown := a.ShowDiagnostics(found); shown != nil {
		return nil, shown
	}
	if err != nil {
		return nil, console.Usage("`concerto tools check <file>` checks a file of tools; a module must declare a `pub tool`", "%v", err)
	}
	return set, nil
}
