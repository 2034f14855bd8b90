package program

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// WorldFlags are the flags that change the program's environment and its permissions.
type WorldFlags struct {
	answers     []string
	handler     string
	passEnv     []string
	envFiles    []string
	Mock        bool
	trust       bool
	Permissions PermissionFlags
	Audit       AuditFlags
	Tools       ToolFlags
}

// AddSubmitted adds the flags that also apply to a run that another process executes.
func (f *WorldFlags) AddSubmitted(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.answers, "answer", nil, "answer awaited emits on a channel; repeatable: `CHANNEL=VALUE`")
	c.Flags().BoolVar(&f.Mock, "mock", false, "replace all models by scripted replies: no key, no network")
	f.Permissions.Add(c)
}

// Add adds all flags.
func (f *WorldFlags) Add(c *cobra.Command) {
	f.AddSubmitted(c)
	c.Flags().StringVar(&f.handler, "emit-handler", "", "answer awaited emits by `COMMAND`")
	c.Flags().StringSliceVar(&f.passEnv, "pass-env", nil, "pass the variables `NAMES` to the emit handler; * matches any text")
	c.Flags().StringArrayVar(&f.envFiles, "env", nil, "set the environment variables of `FILE`, lines NAME=VALUE; repeatable")
	c.Flags().BoolVar(&f.trust, "trust", false, "run a compiled program from elsewhere without asking")
	f.Audit.Add(c)
	f.Tools.Add(c)
}

// Prepare compiles or loads a program, and creates the options that are common to all commands that
// run programs. When Prepare returns, signals are being caught.
func Prepare(ctx context.Context, a *console.Console, s driver.Request, f *WorldFlags, signals *interrupt.Handler) (*engine.Program, engine.Options, error) {
	s.Mock = f.Mock
	return PrepareWith(a, f, signals, func(grants *permit.Grants) (*engine.Program, string, error) { return Open(ctx, a, s, f, grants) })
}

// PrepareWith is Prepare for a program that the function open returns.
func PrepareWith(a *console.Console, f *WorldFlags, signals *interrupt.Handler, open func(*permit.Grants) (p *engine.Program, dir string, err error)) (*engine.Program, engine.Options, error) {
	fixed, err := ParseAnswers(f.answers)
	fixed = append(fixed, a.Debugging.Answers...)
	if err != nil {
		return nil, engine.Options{}, err
	}
	grants, err := f.Permissions.Grants()
	if err != nil {
		return nil, engine.Options{}, err
	}
	if err := checkNames("--pass-env", f.passEnv); err != nil {
		return nil, engine.Options{}, err
	}
	environ, err := environment(a, f.envFiles)
	if err != nil {
		return nil, engine.Options{}, err
	}
	p, dir, err := open(&grants)
	if err != nil {
		return nil, engine.Options{}, err
	}
	<-signals.Ready
	steps := [...]engine.Steps{engine.NoSteps, engine.ShortSteps, engine.WholeSteps}[min(a.Verbose, 2)]
	return p, engine.Options{
		Dir: dir, WorkDir: a.Dir, Environ: environ, Executable: a.Binary.Executable, Allow: grants,
		Answers: engine.Answers{Fixed: fixed, Handler: f.handler, HandlerDir: a.Dir, PassEnv: f.passEnv},
		Log:     a.LogWriter(), LogLevel: a.LogLevel, Kill: signals.Kill, Models: engine.Models{Mock: f.Mock}, Records: engine.Records{Steps: steps},
	}, nil
}

// checkNames returns an error if one of the values cannot be the name of an environment variable.
func checkNames(flag string, all []string) error {
	for _, name := range all {
		if name == "" || strings.ContainsAny(name, "=$ ") {
			return console.Usage("give the names of variables without values, such as "+flag+" LANG,TZ", "invalid value %q for %s", name, flag)
		}
	}
	return nil
}

// CheckAnswers returns an error if a value of --answer is invalid.
func (f *WorldFlags) CheckAnswers() error {
	_, err := ParseAnswers(f.answers)
	return err
}

// ParseAnswers parses the values of --answer. Each has the form CHANNEL=VALUE.
func ParseAnswers(values []string) ([]emit.Fixed, error) {
	var out []emit.Fixed
	for _, g := range values {
		channel, v, ok := strings.Cut(g, "=")
		if !ok || channel == "" {
			return nil, console.Usage("write --answer <channel>=<value>, such as --answer approve=yes", "invalid value %q for --answer", g)
		}
		out = append(out, emit.Fixed{Channel: channel, Value: v})
	}
	return out, nil
}

var ModeNames = []string{"text", "ndjson", "none"}

// UnusedEntries returns the warning that n entries of a tape were not used. kinds are the kinds of
// these entries.
func UnusedEntries(kinds []string, n int) string {
	what := fmt.Sprintf("%d entries of the tape were", n)
	if n == 1 {
		what = "1 entry of the tape was"
	}
	return what + " not used: " + strings.Join(kinds, ", ")
}
