package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/concerto-lang/concerto/internal/engine"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

const rootHelp = `Concerto orchestrates AI agents: small typed programs that talk to models,
supervise external agent programs (hosts), answer their questions and hand on
their results.

  concerto init triage            make a project that runs as it is
  concerto run triage.conc        run a program
  concerto check                  look for mistakes in the project here
  concerto test                   run the project's tests
  concerto build -o triage.conc-ir  compile it into one file

A PATH is a .conc file, a directory with a Concerto.toml, or, to run, a compiled
.conc-ir file; - is standard input for run and check. Without one, the
Concerto.toml here or above decides.

Exit codes: 0 success, 1 the program failed, 2 it did not compile or the command
was misused, 74 a run's journal cannot be written, 75 a run waits for an answer or a
time, 76 an audit log or a journal was changed or a replay left its tape, 130
interrupted.`

// root is the command with all its commands, a file each.
func (a *app) root() *cobra.Command {
	var chdir, overlay string
	var asked bool
	root := &cobra.Command{
		Use:           "concerto",
		Short:         "Run programs that orchestrate AI agents",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.unknownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return a.about(c, asked) },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return a.global(chdir, overlay)
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().BoolVar(&asked, "version", false, "version for concerto")
	f := root.PersistentFlags()
	f.StringVarP(&chdir, "directory", "C", "", "work as if started in `DIR`")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no warnings, only errors in the log")
	f.CountVarP(&a.verbose, "verbose", "v", "say what is done, with the whole log; twice: and what is said to models")
	f.StringVar(&a.logLevel, "log-level", "", "least `LEVEL` of log lines on stderr: debug, info, warn or error (default info)")
	f.StringVar(&overlay, "overlay", "", "take the texts of `FILE`, a JSON object by their paths, in place of the disk's: editors give what is not saved")
	_ = f.MarkHidden("overlay") // it is there
	root.AddCommand(a.runCommand(), a.resumeCommand(), a.runsCommand(), a.answerCommand(), a.forkCommand(), a.replayCommand(), a.inspectCommand(), a.keeperCommand(), a.buildCommand(), a.checkCommand(), a.testCommand(), a.replCommand(), a.dapCommand(), a.fmtCommand(), a.lspCommand(), a.initCommand(), a.hostCommand(), a.mcpCommand(), a.serveCommand(), a.toolsCommand(), a.auditCommand(), a.relayCommand(), a.hostdCommand(), a.explainCommand(), a.docCommand(), a.versionCommand(),
		a.completionCommand(), a.manCommand())
	a.completions(root)
	return root
}

// about says which version this is, when that was asked, and else how the command is used. The
// flag is ours: with a template of cobra's, package text/template keeps the linker from leaving
// out any exported method.
func (a *app) about(c *cobra.Command, asked bool) error {
	if !asked {
		return c.Help()
	}
	_, err := fmt.Fprintln(a.stdout, "concerto", a.binary.version())
	return err
}

// global applies the flags of all commands.
func (a *app) global(chdir, overlay string) error {
	if chdir != "" {
		a.dir = a.abs(chdir)
		if info, err := os.Stat(a.dir); err != nil || !info.IsDir() {
			return usage("-C takes a directory that exists", "no directory %s", chdir)
		}
	}
	if err := a.overlayOf(overlay); err != nil {
		return err
	}
	switch {
	case a.quiet && a.verbose > 0:
		return usage("give one of them", "--quiet and --verbose contradict each other")
	case a.logLevel != "":
		return oneOf("--log-level", a.logLevel, engine.LogLevels)
	case a.quiet:
		a.logLevel = "error"
	case a.verbose > 0:
		a.logLevel = "debug"
	}
	return nil
}

// overlayOf reads the texts that --overlay gives.
func (a *app) overlayOf(file string) error {
	if file == "" {
		return nil
	}
	var texts map[string]string
	data, err := userfile.Read(a.abs(file), userfile.MaxText)
	if err == nil {
		err = json.Unmarshal(data, &texts)
	}
	if err != nil {
		return usage(`it is as {"/home/me/main.conc": "fn main() { }"}`, "--overlay: %v", cause(err))
	}
	a.overlay = map[string][]byte{}
	for path, text := range texts {
		a.overlay[a.abs(path)] = []byte(text)
	}
	return nil
}

// abs is a path seen from the working directory.
func (a *app) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.dir, path)
}

// say writes what is done, for --verbose.
func (a *app) say(format string, args ...any) {
	switch {
	case a.verbose == 0:
	case a.records():
		a.record(message{a.since(), "debug", fmt.Sprintf(format, args...), ""})
	default:
		fmt.Fprintf(a.stderr, "concerto: "+format+"\n", args...)
	}
}

// unknownCommand refuses an argument of a command group that is none of its
// commands.
func (a *app) unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := args[0]
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	hint := "`" + c.CommandPath() + " --help` lists the commands"
	if near := suggest.Nearest(name, names); near != "" {
		hint = "did you mean `" + c.CommandPath() + " " + near + "`?"
	} else if strings.HasSuffix(name, ".conc") || strings.HasSuffix(name, ".conc-ir") {
		hint = "run it with `concerto run " + name + "`"
	}
	return usage(hint, "unknown command %q", name)
}

// flagError turns the flag parser's errors into ours, with the nearest flag.
func flagError(c *cobra.Command, err error) error {
	hint := fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())
	var none *pflag.NotExistError
	if errors.As(err, &none) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := none.GetSpecifiedName()
		if near := suggest.Nearest(name, names); near != "" {
			hint = "did you mean --" + near + "?"
		}
		if len(name) > 1 {
			return usage(hint, "unknown flag --%s", name)
		}
		return usage(hint, "unknown flag -%s", name)
	}
	return usage(hint, "%v", err)
}

// onePath accepts at most one argument before `--`. Arguments after it are the
// program's; they are accepted when rest is true.
func onePath(rest bool) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		before := args
		if n := c.ArgsLenAtDash(); n >= 0 {
			before = args[:n]
			if !rest && len(args) > n {
				return usage("only `concerto run` passes arguments on", "%s takes no arguments after --", c.Name())
			}
		}
		if len(before) > 1 {
			hint := "name one of them"
			if rest {
				hint = "put arguments for the program after `--`"
			}
			for _, k := range engine.Permissions {
				if f := c.Flags().Lookup(k.Flag); f != nil && f.Changed && f.Value.String() == everything {
					hint = "what --" + k.Flag + " lists stands behind `=`: --" + k.Flag + "=" + before[0]
				}
			}
			return usage(hint, "%s takes one path, not %d", c.Name(), len(before))
		}
		return nil
	}
}

// path is the PATH argument, "" without one, and rest what follows `--`.
func path(c *cobra.Command, args []string) (path string, rest []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		args, rest = args[:n], args[n:]
	}
	if len(args) > 0 {
		path = args[0]
	}
	return path, rest
}

// oneOf refuses a flag's value that is not in its list.
func oneOf(flag, v string, list []string) error {
	if slices.Contains(list, v) {
		return nil
	}
	hint := fmt.Sprintf("%s is %s or %s", flag, strings.Join(list[:len(list)-1], ", "), list[len(list)-1])
	if near := suggest.Nearest(v, list); near != "" {
		hint = "did you mean " + near + "?"
	}
	return usage(hint, "%s cannot be %q", flag, v)
}
