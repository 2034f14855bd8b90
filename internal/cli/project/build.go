package project

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// stageNames returns the values of --emit.
func stageNames() []string {
	var names []string
	for _, s := range driver.Stages {
		names = append(names, s.Name)
	}
	return names
}

// buildCommand is the command build with its options.
type buildCommand struct {
	console           *console.Console
	out, emit, passes string
}

func NewBuild(a *console.Console) *cobra.Command {
	cmd := buildCommand{console: a}
	c := &cobra.Command{
		Use:   "build [PATH]",
		Short: "Compile a program into one file",
		Long: `Compiles a program and its manifest into one .conc-ir file, which 'concerto run' runs without the
sources. The file holds the names of the environment variables with keys, not the keys. Equal
sources produce equal bytes.`,
		Example: `  concerto build                           write main.conc-ir for the entry file main.conc
  concerto build triage.conc -o t.conc-ir  write t.conc-ir
  concerto build --emit asm triage.conc    print the instructions`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("emit") {
				if err := console.OneOf("--emit", cmd.emit, stageNames()); err != nil {
					return err
				}
			}
			on, err := optimize.Parse(cmd.passes)
			if err != nil {
				return console.Usage("", "--passes: %v", err)
			}
			p, _ := console.Path(c, args)
			return cmd.build(p, on)
		},
	}
	c.Flags().StringVarP(&cmd.out, "output", "o", "", "write to `FILE`; - is stdout")
	c.Flags().StringVar(&cmd.emit, "emit", "", "print the result of `STAGE`: ir, tokens, ast or asm")
	c.Flags().StringVar(&cmd.passes, "passes", "all", "apply these optimization `PASSES`: all, none, or names separated by commas")
	cmdline.Hide(c, "passes")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	console.CompleteFlag(c, "emit", stageNames)
	return c
}

// build writes the output of a stage of the compilation to the file out. Without out, it writes to
// stdout if emit names a stage, and otherwise to a file named after the entry.
func (cmd *buildCommand) build(path string, on optimize.Set) error {
	out := cmd.out
	in, err := driver.Load(driver.Request{Path: path, Dir: cmd.console.Dir, Overlay: cmd.console.Overlay, Packages: cmd.console.Packages()})
	if err != nil {
		return console.SourceError(err)
	}
	in.Passes = on
	if in.Entry == nil {
		return cmd.console.ShowDiagnostics(in.Diagnostics)
	}
	name := cmp.Or(cmd.emit, driver.IR)
	s := driver.Stages[slices.Index(stageNames(), name)]
	var text bytes.Buffer
	found, err := s.Write(&text, in)
	if err != nil {
		return err
	}
	if err := cmd.console.ShowDiagnostics(found); err != nil {
		return err
	}
	if out == "" && cmd.emit == "" {
		base := filepath.Base(filepath.FromSlash(in.EntryName))
		out = strings.TrimSuffix(base, driver.SourceExt) + driver.IRExt
	}
	if name == driver.IR {
		program.TrustBuilt(cmd.console, text.Bytes())
	}
	if out == "" || out == "-" {
		_, err := cmd.console.Stdout.Write(text.Bytes())
		return err
	}
	if err := console.WriteFile(cmd.console.Abs(out), text.Bytes()); err != nil {
		return console.Usage("", "write %s: %v", out, err)
	}
	cmd.console.Verbosef("wrote %s, %d bytes", out, text.Len())
	return nil
}
