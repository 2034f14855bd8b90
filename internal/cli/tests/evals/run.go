package evals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/eval/runner"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/sema"
)

// runCommand is the command eval PATH with its options.
type runCommand struct {
	console *console.Console
	world   program.WorldFlags
	format  *cmdline.Format

	filter   string
	cases    []string
	list     bool
	repeat   int
	limit    int
	seed     int64
	parallel int
	timeout  float64
	dir      string
	models   []string
	baseline string
	gate     []string
	margin   float64
	alpha    float64
	maxCost  float64
	errors   int
	fresh    bool
	cached   bool
	dryRun   bool
	pass     []int

	changed func(flag string) bool
}

// The defaults of the flags.
const (
	defaultParallel = 4
	defaultTimeout  = 300
	defaultAlpha    = 0.05
)

// addFlags adds the flags of the command.
func (cmd *runCommand) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&cmd.filter, "filter", "", "run the evals whose names match the regular expression `REGEXP`")
	f.StringArrayVar(&cmd.cases, "case", nil, "run the cases `ID,…`")
	f.BoolVar(&cmd.list, "list", false, "list the evals without running them")
	f.IntVar(&cmd.repeat, "repeat", 0, "run each case `N` times (default: that of the eval)")
	f.IntVar(&cmd.limit, "limit", 0, "run `N` cases, the same ones for the same seed")
	f.Int64Var(&cmd.seed, "seed", 0, "seed the random numbers of the samples with `N`")
	f.IntVar(&cmd.parallel, "parallel", defaultParallel, "run `N` samples at the same time (default 4)")
	f.Float64Var(&cmd.timeout, "timeout", defaultTimeout, "fail a sample after `SECONDS` (default 300)")
	f.StringVar(&cmd.dir, "dir", "", "write results and tapes to `DIR` (default: evals, next to the program)")
	f.StringSliceVar(&cmd.models, "model", nil, "compare the models `[AGENT=]M,…`; M is MODEL or CONNECTION:MODEL")
	f.StringVar(&cmd.baseline, "baseline", "", "compare with the result, or the directory of results, at `PATH`")
	f.StringSliceVar(&cmd.gate, "gate", nil, "decide by the metrics `NAME,…`; also cost_usd, latency_ms, tokens")
	f.Float64Var(&cmd.margin, "margin", 0, "accept a loss of `X` in the unit of each metric (default: the eval's)")
	f.Float64Var(&cmd.alpha, "alpha", defaultAlpha, "accept that a share `X` of equal programs is worse (default 0.05)")
	f.Float64Var(&cmd.maxCost, "max-cost", 0, "make no further calls when all samples have cost `USD`")
	f.IntVar(&cmd.errors, "max-errors", 0, "accept `N` samples with errors (default 0)")
	f.BoolVar(&cmd.fresh, "fresh", false, "ignore the tapes of earlier samples")
	f.BoolVar(&cmd.cached, "cached", false, "make no requests: what is not on a tape is an error")
	f.BoolVar(&cmd.dryRun, "dry-run", false, "print how many samples would run, and exit")
	f.IntSliceVar(&cmd.pass, "pass", nil, "report pass@K and pass^K for `K,…` (default: 1 and --repeat)")
	cmd.format = cmdline.AddFormat(c, "text", "json", "ndjson")
	cmd.world.AddSubmitted(c)
	cmd.world.Tools.Add(c)
	cmdline.Group(c, "Comparison", "", "model", "baseline", "gate", "margin", "alpha", "pass")
	cmdline.Group(c, "Permissions", "permissions", program.PermissionRows()...)
	cmdline.Group(c, "Tools", "", "host-tools", "host-tools-module")
	cmd.world.Permissions.Complete(cmd.console, c)
}

// runEvals runs the command. With --format json, an error before any sample is printed, too.
func (cmd *runCommand) runEvals(c *cobra.Command, args []string) error {
	cmd.changed = c.Flags().Changed
	path, _ := console.Path(c, args)
	began := false
	err := cmd.run(c.Context(), path, &began)
	if exit, ok := errors.AsType[console.ExitError](err); ok && (began || int(exit) != console.ExitRefused) || err == nil || began || cmd.format.String() != "json" {
		return err
	}
	if written := cmd.console.WriteJSON(newFailure(err)); written != nil {
		return written
	}
	return err
}

// checkFlags validates the flags that do not depend on the program.
func (cmd *runCommand) checkFlags() error {
	refuse := func(flag string, value any, must string) error {
		return console.Usage("", "invalid value %v for --%s: must be %s", value, flag, must)
	}
	switch {
	case cmd.changed("repeat") && (cmd.repeat < 1 || cmd.repeat > sema.MaxRepeat):
		return refuse("repeat", cmd.repeat, fmt.Sprintf("1 to %d", sema.MaxRepeat))
	case cmd.changed("limit") && cmd.limit < 1:
		return refuse("limit", cmd.limit, "1 or more")
	case cmd.parallel < 1:
		return refuse("parallel", cmd.parallel, "1 or more")
	case !(cmd.timeout > 0 && cmd.timeout < 1e9):
		return refuse("timeout", cmd.timeout, "a number of seconds above 0")
	case !(cmd.alpha > 0 && cmd.alpha < 0.5):
		return refuse("alpha", cmd.alpha, "above 0 and below 0.5")
	case cmd.changed("margin") && !(cmd.margin >= 0 && cmd.margin <= ir.MaxMetric):
		return refuse("margin", cmd.margin, "a number that is not negative")
	case cmd.changed("max-cost") && !(cmd.maxCost > 0 && cmd.maxCost < 1e9):
		return refuse("max-cost", cmd.maxCost, "above 0")
	case cmd.changed("baseline") && cmd.baseline == "":
		return refuse("baseline", `""`, "the path of a result, or of a directory of results")
	case cmd.changed("model") && len(cmd.models) == 0:
		return refuse("model", `""`, "the name of a model")
	case cmd.changed("gate") && len(cmd.gate) == 0:
		return refuse("gate", `""`, "the name of a metric")
	case cmd.errors < 0:
		return refuse("max-errors", cmd.errors, "0 or more")
	case cmd.fresh && cmd.cached:
		return console.Usage("leave one of them out", "--fresh and --cached cannot be used together")
	case cmd.list && cmd.format.String() == "ndjson":
		return console.Usage("leave one of them out", "--list cannot be used with --format ndjson")
	}
	for _, k := range cmd.pass {
		if k < 1 || k > sema.MaxRepeat {
			return refuse("pass", k, fmt.Sprintf("1 to %d", sema.MaxRepeat))
		}
	}
	return nil
}

func (cmd *runCommand) run(parent context.Context, path string, began *bool) error {
	if err := cmd.checkFlags(); err != nil {
		return err
	}
	if filepath.Ext(path) == driver.IRExt {
		return console.Usage("name the source file or the project", "%s: a compiled program contains no evals", path)
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	p, o, err := program.PrepareWith(cmd.console, &cmd.world, signals, func(*permit.Grants) (*engine.Program, string, error) {
		p, err := cmd.compile(path)
		return p, cmd.console.Dir, err
	})
	if err != nil {
		return err
	}
	evals, err := cmd.selectEvals(p)
	if err != nil {
		return err
	}
	if cmd.list {
		return cmd.listEvals(p, evals)
	}
	if err := cmd.setDefaults(p); err != nil {
		return err
	}
	endTools, err := program.RegisterTools(ctx, cmd.console, &cmd.world.Tools, p, &o)
	if err != nil {
		return err
	}
	return endTools(cmd.runWith(ctx, p, o, evals, began))
}

// compile compiles the program with its evals.
func (cmd *runCommand) compile(path string) (*engine.Program, error) {
	s := driver.Request{Path: path, Dir: cmd.console.Dir, Overlay: cmd.console.Overlay, Packages: cmd.console.Packages(), Programs: cmd.console.Programs(), Evals: true, Mock: cmd.world.Mock}
	p, found, err := engine.CompileSource(s)
	if err != nil {
		return nil, console.SourceError(err)
	}
	if err := cmd.console.ShowDiagnostics(found); err != nil {
		return nil, &compileError{found, err}
	}
	return p, nil
}

// compileError is the error of a program that does not compile. Its diagnostics were shown.
type compileError struct {
	found diag.List
	exit  error
}

func (e *compileError) Error() string { return "the program does not compile" }
func (e *compileError) Unwrap() error { return e.exit }

// setDefaults sets the flags that are not set to the values of [eval] in the manifest.
func (cmd *runCommand) setDefaults(p *engine.Program) error {
	d, err := p.EvalDefaults(cmd.console.Dir)
	if err != nil {
		return err
	}
	if !cmd.changed("parallel") && d.Parallel > 0 {
		cmd.parallel = d.Parallel
	}
	if !cmd.changed("max-cost") {
		cmd.maxCost = d.MaxCostUSD
	}
	if !cmd.changed("max-errors") {
		cmd.errors = d.MaxErrors
	}
	if cmd.dir == "" {
		cmd.dir = cmd.shown(d.Dir)
	}
	return nil
}

// shown returns a path relative to the working directory, if it is below it.
func (cmd *runCommand) shown(path string) string {
	if rel, err := filepath.Rel(cmd.console.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// selectEvals returns the evals that --filter selects.
func (cmd *runCommand) selectEvals(p *engine.Program) ([]engine.Eval, error) {
	all, err := p.Evals(cmd.console.Dir)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 && !cmd.list {
		return nil, console.Usage("put `@eval(data: \"rows.jsonl\")` before a function that scores one row; `concerto help eval` has an example", "the program has no evals")
	}
	if cmd.filter == "" {
		return all, nil
	}
	re, err := regexp.Compile(cmd.filter)
	if err != nil {
		return nil, console.Usage("escape special characters with a backslash, such as `\\(`", "--filter is not a regular expression: %v", err)
	}
	chosen := slices.DeleteFunc(all, func(e engine.Eval) bool { return !re.MatchString(e.Name) && !re.MatchString(e.Function) })
	if len(chosen) == 0 && !cmd.list {
		return nil, console.Usage("`concerto eval --list` lists the evals", "no eval matches %q", cmd.filter)
	}
	return chosen, nil
}

// runWith runs the evals with the options of the command.
func (cmd *runCommand) runWith(ctx context.Context, p *engine.Program, o engine.Options, evals []engine.Eval, began *bool) (err error) {
	sampler, err := p.NewSampler(o, time.Duration(cmd.timeout*float64(time.Second)), cmd.maxCost)
	if err != nil {
		return console.Usage("", "%v", err)
	}
	defer func() { err = cmp.Or(err, sampler.Close()) }()
	variants, err := cmd.variants(p, sampler)
	if err != nil {
		return err
	}
	plans, err := cmd.plans(ctx, p, sampler, evals, variants)
	if err != nil {
		return err
	}
	baselines, err := cmd.baselines(plans)
	if err != nil {
		return err
	}
	so, err := cmd.summaryOptions(plans, baselines, sampler.CleanText)
	if err != nil {
		return err
	}
	ro := runner.Options{Dir: cmd.console.Abs(cmd.dir), Program: p.MainFile(), Seed: cmd.seed, Parallel: cmd.parallel, Fresh: cmd.fresh, Cached: cmd.cached, DryRun: cmd.dryRun,
		Warn: func(text string) {
			if !cmd.console.Quiet {
				cmd.console.Complain("warning: "+text, "")
			}
		}}
	if cmd.dryRun {
		return cmd.countSamples(ctx, sampler, plans, ro)
	}
	if err := os.MkdirAll(ro.Dir, 0o755); err != nil {
		return console.Usage("", "could not create %s: %v", cmd.dir, console.Cause(err))
	}
	unlock, err := lockfile.LockAs(filepath.Join(ro.Dir, ".lock"))
	if held, ok := errors.AsType[*lockfile.HeldError](err); ok {
		return console.Usage("wait for it, or use another directory with --dir", "%s runs evals in %s", held, cmd.dir)
	} else if err != nil {
		return console.Usage("", "could not lock %s: %v", cmd.dir, console.Cause(err))
	}
	defer unlock()
	*began = true
	return cmd.runPlans(ctx, sampler, plans, baselines, so, ro)
}

// countSamples prints how many samples would run.
func (cmd *runCommand) countSamples(ctx context.Context, sampler *engine.Sampler, plans []*runner.Plan, o runner.Options) error {
	all, err := runner.Run(ctx, sampler, plans, o)
	if err != nil {
		return err
	}
	for _, x := range all {
		total := x.Plan.Samples()
		if _, err := fmt.Fprintf(cmd.console.Stdout, "%s: %s (%d cached, %d to run)\n", planName(x.Plan), console.Count(total, "sample"), total-x.Skipped, x.Skipped); err != nil {
			return printed(err)
		}
	}
	return nil
}

// planName returns the name of an eval with its variant.
func planName(p *runner.Plan) string {
	if p.Variant == "" {
		return p.Eval.Name
	}
	return p.Eval.Name + "@" + p.Variant
}

// runPlans runs the samples, writes the results, and prints the report.
func (cmd *runCommand) runPlans(ctx context.Context, sampler *engine.Sampler, plans []*runner.Plan, baselines []summary.Side, so summary.Options, o runner.Options) error {
	start := time.Now()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	progress := newProgress(cmd, sampler, plans, stop)
	o.OnSample = progress.add
	end := cmd.console.BeginDrawing()
	all, failed := runner.Run(running, sampler, plans, o)
	end()
	if failed != nil && progress.err == nil && ctx.Err() == nil {
		return console.Usage("the next run continues with the tapes that were written", "%v", failed)
	}
	if failed != nil || progress.err != nil {
		return cmp.Or(printed(progress.err), failed, cmd.writeResults(all, o.Dir, nil))
	}
	cmd.warnUnusedModels(sampler, all)
	pairs := make([]summary.Pair, len(all))
	for i, x := range all {
		pairs[i] = summary.Pair{Current: summary.Side{Path: x.Plan.ResultPath(cmd.dir), Result: x.Result}, Baseline: baselines[i],
			Run: &summary.Run{Cases: len(x.Plan.Cases), Skipped: x.Skipped, Calls: x.Calls, JudgeCalls: x.JudgeCalls}}
		if first := cmd.firstVariant(plans, i); cmd.baseline == "" && first != i {
			pairs[i].Baseline = pairs[first].Current
		}
	}
	so.Judged = readOthers(cmd.console, pairs)
	report, err := summary.New(pairs, so)
	if err != nil {
		refused := console.ExitRefused
		return cmp.Or(cmd.writeResults(all, o.Dir, &refused), newRefusal(err))
	}
	report.Dir, report.Seconds, report.Seed = cmd.dir, time.Since(start).Seconds(), cmd.seed
	if err := cmd.writeResults(all, o.Dir, &report.Exit); err != nil {
		return err
	}
	switch cmd.format.String() {
	case "json":
		err = cmd.console.WriteJSON(report)
	case "text":
		err = writeReport(cmd.console, report, pairs)
	}
	if err == nil && report.Exit != 0 {
		return console.ExitError(report.Exit)
	}
	return printed(err)
}

// warnUnusedModels warns of agents in --model that no sample has called.
func (cmd *runCommand) warnUnusedModels(sampler *engine.Sampler, all []*runner.Outcome) {
	warned := map[string]bool{}
	for _, x := range all {
		for _, m := range x.Plan.Models {
			if m.Agent == "" || x.Skipped > 0 || sampler.HasCalled(m.Agent) || warned[m.Agent] || cmd.console.Quiet {
				continue
			}
			warned[m.Agent] = true
			cmd.console.Complain(fmt.Sprintf("warning: --model changes no call of %s, because no sample calls it other than as a judge", m.Agent), "")
		}
	}
}

// writeResults writes all results. exit is nil if the command was interrupted. It returns the first
// error.
func (cmd *runCommand) writeResults(all []*runner.Outcome, dir string, exit *int) error {
	var errs []error
	for _, x := range all {
		if err := x.Write(dir, exit); err != nil {
			errs = append(errs, console.Usage("", "could not write the result %s: %v", x.Plan.ResultPath(cmd.dir), console.Cause(err)))
		}
	}
	return cmp.Or(errs...)
}
