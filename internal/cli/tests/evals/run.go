package evals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/runner"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime/world/permit"
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
	defaultDir      = "evals"
	defaultParallel = 4
	defaultTimeout  = 300
	defaultAlpha    = 0.05
	maxRepeat       = 1000
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
	case cmd.changed("repeat") && (cmd.repeat < 1 || cmd.repeat > maxRepeat):
		return refuse("repeat", cmd.repeat, fmt.Sprintf("1 to %d", maxRepeat))
	case cmd.changed("limit") && cmd.limit < 1:
		return refuse("limit", cmd.limit, "1 or more")
	case cmd.parallel < 1:
		return refuse("parallel", cmd.parallel, "1 or more")
	case !(cmd.timeout > 0 && cmd.timeout < 1e9):
		return refuse("timeout", cmd.timeout, "a number of seconds above 0")
	case !(cmd.alpha > 0 && cmd.alpha < 0.5):
		return refuse("alpha", cmd.alpha, "above 0 and below 0.5")
	case cmd.changed("margin") && !(cmd.margin >= 0 && cmd.margin <= maxMargin):
		return refuse("margin", cmd.margin, "a number that is not negative")
	case cmd.changed("max-cost") && !(cmd.maxCost > 0 && cmd.maxCost < 1e9):
		return refuse("max-cost", cmd.maxCost, "above 0")
	case cmd.errors < 0:
		return refuse("max-errors", cmd.errors, "0 or more")
	case cmd.fresh && cmd.cached:
		return console.Usage("leave one of them out", "--fresh and --cached cannot be used together")
	case cmd.list && cmd.format.String() == "ndjson":
		return console.Usage("leave one of them out", "--list cannot be used with --format ndjson")
	}
	for _, k := range cmd.pass {
		if k < 1 || k > maxRepeat {
			return refuse("pass", k, fmt.Sprintf("1 to %d", maxRepeat))
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
	cmd.setDefaults(p)
	endTools, err := program.RegisterTools(ctx, cmd.console, &cmd.world.Tools, p, &o)
	if err != nil {
		return err
	}
	return endTools(cmd.runWith(ctx, p, o, evals, began))
}

// compile compiles the program with its evals.
func (cmd *runCommand) compile(path string) (*engine.Program, error) {
	s := driver.Request{Path: path, Dir: cmd.console.Dir, Overlay: cmd.console.Overlay, Packages: cmd.console.Packages(), Evals: true, Mock: cmd.world.Mock}
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
func (cmd *runCommand) setDefaults(p *engine.Program) {
	d := p.EvalDefaults()
	if !cmd.changed("parallel") && d.Parallel > 0 {
		cmd.parallel = d.Parallel
	}
	if !cmd.changed("max-cost") {
		cmd.maxCost = d.MaxCostUSD
	}
	if !cmd.changed("max-errors") {
		cmd.errors = d.MaxErrors
	}
	switch {
	case cmd.dir != "":
	case d.Dir != "":
		cmd.dir = cmd.shown(filepath.Join(p.Dir(cmd.console.Dir), filepath.FromSlash(d.Dir)))
	default:
		cmd.dir = cmd.shown(filepath.Join(p.Dir(cmd.console.Dir), defaultDir))
	}
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
func (cmd *runCommand) runWith(ctx context.Context, p *engine.Program, o engine.Options, evals []engine.Eval, began *bool) error {
	sampler, err := p.NewSampler(o, time.Duration(cmd.timeout*float64(time.Second)), cmd.maxCost)
	if err != nil {
		return console.Usage("", "%v", err)
	}
	defer sampler.Close()
	variants, err := cmd.variants(p, sampler)
	if err != nil {
		return err
	}
	plans, err := cmd.plans(ctx, sampler, evals, variants)
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
			return err
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
	progress := newProgress(cmd, sampler, plans)
	o.OnSample = progress.add
	end := cmd.console.BeginDrawing()
	all, failed := runner.Run(ctx, sampler, plans, o)
	end()
	if failed != nil && progress.err == nil && ctx.Err() == nil {
		return console.Usage("the next run continues with the tapes that were written", "%v", failed)
	}
	if failed != nil || progress.err != nil {
		return firstError(failed, progress.err, cmd.writeResults(all, o.Dir, nil))
	}
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
		return firstError(cmd.writeResults(all, o.Dir, &refused), newRefusal(err))
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
	return err
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
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
	return firstError(errs...)
}

// firstVariant returns the index of the first variant of the eval of plan i.
func (cmd *runCommand) firstVariant(plans []*runner.Plan, i int) int {
	return slices.IndexFunc(plans, func(p *runner.Plan) bool { return p.Eval.Name == plans[i].Eval.Name })
}

// variants returns the variants that --model describes; without the flag, one without a name.
func (cmd *runCommand) variants(p *engine.Program, sampler *engine.Sampler) ([]variant, error) {
	if len(cmd.models) == 0 {
		return []variant{{}}, nil
	}
	var all []variant
	agents := p.Agents()
	for _, text := range cmd.models {
		v := variant{}
		var change engine.ModelChange
		model := text
		if name, rest, ok := strings.Cut(text, "="); ok {
			if !slices.Contains(agents, name) {
				hint := "the agents are " + strings.Join(agents, ", ")
				if near := suggest.Nearest(name, agents); near != "" {
					hint = fmt.Sprintf("did you mean %s?", near)
				}
				return nil, console.Usage(hint, "invalid value %q for --model: the program has no agent %s", text, name)
			}
			change.Agent, model = name, rest
		}
		v.name = model
		if connection, rest, ok := strings.Cut(model, ":"); ok && slices.Contains(sampler.Connections(), connection) {
			change.Connection, model = connection, rest
		}
		if change.Model = model; model == "" {
			return nil, console.Usage("write a model, such as --model small,large", "invalid value %q for --model: the model is missing", text)
		}
		v.models = []engine.ModelChange{change}
		for _, other := range all {
			if strings.EqualFold(other.name, v.name) {
				return nil, console.Usage("name each model once", "--model: the results of %s and %s would have the same file", other.name, v.name)
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// variant is a variant of all evals.
type variant struct {
	name   string
	models []engine.ModelChange
}

// plans reads the datasets and selects the cases.
func (cmd *runCommand) plans(ctx context.Context, sampler *engine.Sampler, evals []engine.Eval, variants []variant) ([]*runner.Plan, error) {
	var plans []*runner.Plan
	var known []string
	data := make([]*dataset.Dataset, len(evals))
	for i := range evals {
		var err error
		if data[i], err = cmd.readData(ctx, sampler, &evals[i]); err != nil {
			return nil, err
		}
		for _, c := range data[i].Cases {
			known = append(known, c.ID)
		}
	}
	chosen, err := cmd.chosenCases(known)
	if err != nil {
		return nil, err
	}
	for i, e := range evals {
		cases := data[i].Cases
		if len(cmd.cases) > 0 {
			cases = slices.DeleteFunc(slices.Clone(cases), func(c dataset.Case) bool { return !chosen[c.ID] })
			if len(cases) == 0 {
				continue
			}
		}
		repeat := e.Repeat
		if cmd.repeat > 0 {
			repeat = cmd.repeat
		}
		for _, v := range variants {
			plans = append(plans, &runner.Plan{Eval: e, Variant: v.name, Models: v.models, Source: e.Data, Dataset: data[i], Cases: dataset.Select(cases, cmd.limit, cmd.seed), Repeat: repeat})
		}
	}
	for i, p := range plans {
		for _, other := range plans[:i] {
			if strings.EqualFold(p.Stem(), other.Stem()) {
				return nil, console.Usage("rename one of the functions, or select one with --filter", "%s and %s would have the same result", planName(other), planName(p))
			}
		}
	}
	return plans, nil
}

// chosenCases returns the ids that --case names. Each of its values is an id, or ids with commas.
func (cmd *runCommand) chosenCases(known []string) (map[string]bool, error) {
	chosen := map[string]bool{}
	for _, value := range cmd.cases {
		ids := []string{value}
		if !slices.Contains(known, value) {
			ids = strings.Split(value, ",")
		}
		for _, id := range ids {
			if !slices.Contains(known, id) {
				hint := "`concerto eval show RESULT` names the cases of a result"
				if near := suggest.Nearest(id, known); near != "" {
					hint = fmt.Sprintf("did you mean %q?", near)
				}
				return nil, console.Usage(hint, "invalid value %q for --case: no dataset has this case", id)
			}
			chosen[id] = true
		}
	}
	return chosen, nil
}

// readData reads the dataset of an eval. Its errors contain no secrets.
func (cmd *runCommand) readData(ctx context.Context, sampler *engine.Sampler, e *engine.Eval) (*dataset.Dataset, error) {
	data, err := cmd.readRows(ctx, sampler, e)
	if invalid, ok := errors.AsType[*dataset.Error](err); ok {
		for _, r := range invalid.Rows {
			r.Message = sampler.CleanText(r.Message)
		}
		return nil, newRefusal(invalid)
	}
	return data, err
}

// readRows reads the rows of an eval.
func (cmd *runCommand) readRows(ctx context.Context, sampler *engine.Sampler, e *engine.Eval) (*dataset.Dataset, error) {
	row, err := sampler.RowType(e)
	if err != nil {
		return nil, err
	}
	if e.Path == "" {
		rows, err := sampler.Rows(ctx, e, cmd.seed)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			return nil, newRefusal(fmt.Errorf("the rows of %s are not available: %s failed: %w", e.Name, e.Data, err))
		}
		return dataset.FromRows(e.Data, rows, row)
	}
	shown := filepath.ToSlash(cmd.shown(e.Path))
	text, err := userfile.Read(e.Path, userfile.MaxRecording)
	if err != nil {
		hint := "the path is relative to " + e.File
		if !errors.Is(err, fs.ErrNotExist) {
			hint = ""
		}
		return nil, console.Usage(hint, "could not read the data of %s: %s: %v", e.Name, shown, console.Cause(err))
	}
	return dataset.Read(shown, text, row, 0)
}

// baselines reads the baseline of each plan. Without --baseline, they are empty.
func (cmd *runCommand) baselines(plans []*runner.Plan) ([]summary.Side, error) {
	all := make([]summary.Side, len(plans))
	if cmd.baseline == "" {
		return all, nil
	}
	isDirectory := isDir(cmd.console, cmd.baseline)
	for i, p := range plans {
		path := cmd.baseline
		if isDirectory {
			path = filepath.Join(cmd.baseline, p.Stem()+result.Ext)
			if plain := (&runner.Plan{Eval: p.Eval}).ResultPath(cmd.baseline); p.Variant != "" && !console.IsFile(cmd.console.Abs(path)) {
				path = plain
			}
		} else if p.Eval.Name != plans[0].Eval.Name {
			return nil, console.Usage("name a directory of results, or select one eval with --filter", "--baseline %s is one result, but %s and %s run", cmd.baseline, plans[0].Eval.Name, p.Eval.Name)
		}
		for _, other := range plans {
			if isSameFile(cmd.console.Abs(path), other.ResultPath(cmd.console.Abs(cmd.dir))) {
				return nil, console.Usage("copy it, or write the new result to another directory with --dir", "--baseline %s is the result that %s replaces", path, planName(other))
			}
		}
		r, err := readResult(cmd.console, path)
		if err != nil {
			return nil, newRefusal(err)
		}
		all[i] = summary.Side{Path: path, Result: r}
	}
	return all, nil
}

// isSameFile reports whether two paths name the same file.
func isSameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// summaryOptions returns the options of the report. It returns an error if a result cannot be
// compared with its baseline. clean replaces secrets.
func (cmd *runCommand) summaryOptions(plans []*runner.Plan, baselines []summary.Side, clean func(string) string) (summary.Options, error) {
	o := summary.Options{Alpha: cmd.alpha, MaxErrors: cmd.errors, Pass: cmd.pass}
	if cmd.changed("margin") {
		o.Margin = &cmd.margin
	}
	var pairs []summary.Pair
	for i, p := range plans {
		pairs = append(pairs, summary.Pair{Current: summary.Side{Path: p.ResultPath(cmd.dir), Result: p.NewResult()}, Baseline: baselines[i]})
	}
	if cmd.changed("gate") {
		o.Gate = append([]string{}, cmd.gate...)
		names := summary.Names(pairs)
		for _, name := range o.Gate {
			if err := console.OneOf("--gate", name, names); err != nil {
				return o, err
			}
		}
	}
	for i, p := range pairs {
		if p.Baseline.Result == nil {
			continue
		}
		var ids []string
		for j := range plans[i].Cases {
			ids = append(ids, runner.CaseID(&plans[i].Cases[j], clean))
		}
		if err := summary.Check(p, o, ids); err != nil {
			return o, newRefusal(err)
		}
	}
	return o, nil
}

// listedEval is an eval as --list --format json prints it.
type listedEval struct {
	Name     string   `json:"name"`
	Function string   `json:"function"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Data     string   `json:"data"`
	Repeat   int      `json:"repeat"`
	Metrics  []string `json:"metrics"`
	Cases    *int     `json:"cases,omitempty"`
}

// listEvals lists the evals and their places, one per line or as a JSON array.
func (cmd *runCommand) listEvals(p *engine.Program, evals []engine.Eval) error {
	list := []listedEval{}
	for _, e := range evals {
		x := listedEval{Name: e.Name, Function: e.Function, File: e.File, Line: e.Line, Data: e.Data, Repeat: e.Repeat, Metrics: []string{}}
		for _, m := range e.Metrics {
			x.Metrics = append(x.Metrics, m.Name)
		}
		if n, err := cmd.countCases(p, &e); err == nil {
			x.Cases = &n
		}
		list = append(list, x)
	}
	if cmd.format.String() == "json" {
		return cmd.console.WriteJSON(list)
	}
	for _, x := range list {
		cases := ""
		if x.Cases != nil {
			cases = ", " + console.Count(*x.Cases, "case")
		}
		if _, err := fmt.Fprintf(cmd.console.Stdout, "%s:%d: %s (%s%s)\n", x.File, x.Line, x.Name, x.Data, cases); err != nil {
			return err
		}
	}
	return nil
}

// countCases returns the number of cases in a dataset that is a file.
func (cmd *runCommand) countCases(p *engine.Program, e *engine.Eval) (int, error) {
	if e.Path == "" {
		return 0, errors.New("a function returns the rows")
	}
	sampler, err := p.NewSampler(engine.Options{WorkDir: cmd.console.Dir, Dir: cmd.console.Dir}, time.Second, 0)
	if err != nil {
		return 0, err
	}
	defer sampler.Close()
	data, err := cmd.readData(context.Background(), sampler, e)
	if err != nil {
		return 0, err
	}
	return len(data.Cases), nil
}

// progress shows the samples that have ended, and prints them with --format ndjson.
type progress struct {
	cmd     *runCommand
	sampler *engine.Sampler
	plans   []*runner.Plan
	counts  map[*runner.Plan]*counts
	start   time.Time
	done    int
	err     error // error of printing
}

// counts are the samples of a plan that have ended.
type counts struct{ done, failed, errors int }

func newProgress(cmd *runCommand, sampler *engine.Sampler, plans []*runner.Plan) *progress {
	p := &progress{cmd: cmd, sampler: sampler, plans: plans, counts: map[*runner.Plan]*counts{}, start: time.Now()}
	for _, plan := range plans {
		p.counts[plan] = &counts{}
	}
	return p
}

// add adds a sample.
func (p *progress) add(plan *runner.Plan, s *result.Sample) {
	c := p.counts[plan]
	c.done++
	p.done++
	switch s.Status {
	case result.StatusFailed:
		c.failed++
	case result.StatusError:
		c.errors++
	}
	a := p.cmd.console
	if p.cmd.format.String() == "ndjson" && p.err == nil {
		text, err := s.Line()
		if err == nil {
			_, err = a.Stdout.Write(text)
		}
		p.err = err
	}
	if !a.TTY.ErrScreen || a.Quiet {
		return
	}
	var lines []screen.Line
	total := 0
	for _, plan := range p.plans {
		total += plan.Samples()
	}
	for _, plan := range p.plans {
		c := p.counts[plan]
		text := fmt.Sprintf("%s: %d of %s", planName(plan), c.done, console.Count(plan.Samples(), "sample"))
		if c.failed > 0 {
			text += fmt.Sprintf(", %d failed", c.failed)
		}
		if c.errors > 0 {
			text += ", " + console.Count(c.errors, "error")
		}
		lines = append(lines, screen.Line{Mark: "⇢", Text: text})
	}
	if cost := p.sampler.Used(); cost > 0 {
		lines[0].Text += fmt.Sprintf(", $%s", formatNumber(cost))
	}
	if left := time.Since(p.start) / time.Duration(p.done) * time.Duration(total-p.done); left > time.Second {
		lines[0].Text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	a.Bottom().Show(func(int, int) []screen.Line { return lines })
}
