// Package tests has the command test, which runs a program's tests.
package tests

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runner/rerun"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/vm"
)

// testCommand is the command test with its options.
type testCommand struct {
	console *console.Console

	filter   string
	format   *cmdline.Format
	parallel int
	timeout  float64
	seed     int64
	live     bool
	record   string
	watch    bool
	list     bool
	cover    bool
	deny     bool
	none     bool
	html     string
	report   program.ReportFile
	wire     string

	permissions program.PermissionFlags
	audit       program.AuditFlags
	tools       program.ToolFlags
}

// recordings are the valid values of --record. The first one is used if the flag has no value.
var recordings = []string{"missing", "all"}

func NewTest(a *console.Console) *cobra.Command {
	cmd := testCommand{console: a}
	c := &cobra.Command{
		Use:   "test [PATH]",
		Short: "Run the tests of a program",
		Long: `Runs each @test function of a program and of the files NAME_test.conc next to it. Tests reach no
model, host or network: they use mocks or their tape, tapes/FILE/FUNCTION.tape. --record writes
missing tapes of tests that pass; --record=all rewrites all tapes. A test fails after 60 seconds,
unless --timeout or [limits] max_test_seconds allows another time.

Exit codes: 0 all tests passed, 1 a test failed or there is none, 2 the program does not compile.`,
		Example: `  concerto test                       test the project in this directory or above
  concerto test triage.conc           test one file
  concerto test --filter 'numbers ::' run the tests whose names match
  concerto test -v                    also show what each test emits and prints
  concerto test --format junit        print a JUnit report`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := console.Path(c, args)
			return cmd.runTests(c.Context(), p)
		},
	}
	c.Flags().StringVar(&cmd.filter, "filter", "", "run the tests whose names match the regular expression `REGEXP`")
	cmd.format = cmdline.AddFormat(c, "text", "json", "ndjson", "junit")
	c.Flags().IntVar(&cmd.parallel, "parallel", 0, "run `N` tests at the same time (default: one for each processor)")
	c.Flags().Float64Var(&cmd.timeout, "timeout", 0, "fail a test after `SECONDS`; -1 is no limit (default 60)")
	c.Flags().Int64Var(&cmd.seed, "seed", 0, "seed the random numbers of each test with `N`")
	c.Flags().BoolVar(&cmd.live, "live", false, "call real models, hosts and networks where a test has no mock")
	c.Flags().StringVar(&cmd.record, "record", "", "write missing tapes; --record=`all` rewrites all tapes")
	c.Flags().Lookup("record").NoOptDefVal = recordings[0]
	c.Flags().BoolVar(&cmd.list, "list", false, "list the tests without running them")
	c.Flags().BoolVar(&cmd.watch, "watch", false, "run the tests again whenever a file changes, until Ctrl-C")
	c.Flags().BoolVar(&cmd.none, "allow-none", false, "succeed if the program has no tests")
	c.Flags().BoolVar(&cmd.deny, "deny-warnings", false, "run no test if the program has warnings")
	c.Flags().BoolVar(&cmd.cover, "coverage", false, "report which lines and listen handlers the tests reach")
	c.Flags().StringVar(&cmd.html, "coverage-html", "", "write the coverage as an HTML page to `FILE`")
	c.Flags().StringVar(&cmd.report.Path, "report", "", program.ReportUsage)
	c.Flags().StringVar(&cmd.wire, "wire", "", program.WireUsage)
	cmd.permissions.Add(c)
	cmd.audit.Add(c)
	cmd.tools.Add(c)
	cmdline.Group(c, "Permissions", "permissions", program.PermissionRows()...)
	cmdline.Group(c, "Recordings", "recordings", "report", "wire", "audit", "audit-sync")
	cmdline.Group(c, "Tools", "", "host-tools", "host-tools-module")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	cmd.permissions.Complete(a, c)
	return c
}

// testReport is the result of a run of tests.
type testReport struct {
	Results  []engine.TestResult
	Took     time.Duration
	Coverage *coverage // nil without --coverage
}

func (r *testReport) failed() int {
	n := 0
	for _, x := range r.Results {
		if x.Failure != nil {
			n++
		}
	}
	return n
}

func (cmd *testCommand) runTests(parent context.Context, path string) error {
	selected, err := cmd.selection()
	if err != nil {
		return err
	}
	grants, err := cmd.permissions.Grants()
	if err != nil {
		return err
	}
	if filepath.Ext(path) == driver.IRExt {
		return console.Usage("name the source file or the project", "%s: a compiled program contains no tests", path)
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	interrupt.FollowDebugger(cmd.console, signals)
	<-signals.Ready
	s := driver.Request{Path: path, Dir: cmd.console.Dir, Overlay: cmd.console.Overlay, Packages: cmd.console.Packages(), Programs: cmd.console.Programs(), Tests: true, DenyWarnings: cmd.deny, Seen: func(string) {}}
	if !cmd.watch {
		return cmd.testOnce(ctx, s, grants, selected, signals.Kill)
	}
	var cache analysis.LoadCache
	return rerun.OnChange(ctx, cmd.console, false, func(_ context.Context, seen func(path string)) error {
		s.Seen = seen
		return cmd.testOnce(ctx, cache.Request(s), grants, selected, signals.Kill)
	})
}

// testOnce compiles the program and runs the tests once. It calls s.Seen with each file that the
// tests depend on.
func (cmd *testCommand) testOnce(ctx context.Context, s driver.Request, allow permit.Grants, selected func(engine.Test) bool, kill <-chan struct{}) (failed error) {
	p, found, err := engine.CompileSource(s)
	if err != nil {
		return console.SourceError(err)
	}
	if err := cmd.console.ShowDiagnostics(found); err != nil {
		return err
	}
	tests := p.Tests()
	if cmd.filter != "" && len(tests) > 0 && !matchesAny(tests, selected) {
		return console.Usage("`concerto test --list` lists the tests", "no test matches %q", cmd.filter)
	}
	if cmd.list {
		return listTests(cmd.console, tests, selected, cmd.format.String() == "json")
	}
	o := cmd.options(allow, selected, kill)
	if cmd.wire != "" {
		if err := program.CheckWireFile(cmd.console, p, cmd.wire); err != nil {
			return err
		}
		file, err := cmd.console.CreateRecord("--wire", cmd.wire)
		if err != nil {
			return err
		}
		defer func() { failed = console.CloseRecord(failed, file, cmd.wire) }()
		o.Wire = file
	}
	if err := cmd.report.Begin(cmd.console, p, ""); err != nil {
		return err
	}
	if cmd.report.Path != "" {
		o.Sinks = cmd.report.Sinks
	}
	exported, endTelemetry := program.OpenTelemetry(cmd.console, p.IR().Name, false)
	defer endTelemetry()
	o.Telemetry = exported
	r, err := cmd.runWithTools(ctx, p, o, s.Seen)
	if r == nil {
		return err
	}
	cmd.report.EndTests(r.Results, err)
	for _, x := range r.Results {
		for _, file := range x.Record.Files {
			s.Seen(cmd.console.Abs(file))
		}
		if x.UnusedEntries > 0 {
			cmd.console.Complain("warning: "+x.Tape+": "+program.UnusedEntries(x.Unused, x.UnusedEntries), "")
		}
	}
	if err != nil {
		return err
	}
	if err := cmd.finishTests(r); err != nil || len(tests) > 0 || cmd.none {
		return err
	}
	cmd.console.Complain(fmt.Sprintf("no tests: found no function with `@test` in %s, its modules, and files NAME_test.conc next to them", p.MainFile()),
		"add `@test fn name() { … }`, or --allow-none if this is intended")
	return console.ExitError(console.ExitFailed)
}

// options returns the options that the flags set for running tests, except tools and records.
func (cmd *testCommand) options(allow permit.Grants, selected func(engine.Test) bool, kill <-chan struct{}) engine.TestOptions {
	o := engine.TestOptions{Select: selected, Parallel: cmd.parallel, Seed: cmd.seed, Live: cmd.live, Record: cmd.record, Limit: time.Duration(cmd.timeout * float64(time.Second)), Environ: cmd.console.Environ, Executable: cmd.console.Binary.Executable, WorkDir: cmd.console.Dir, Allow: allow,
		Cover: cmd.cover || cmd.html != "", Kill: kill, Log: cmd.console.LogWriter(), LogLevel: cmd.console.LogLevel}
	if cmd.console.Debugging.Debugger != nil {
		o.Debugger = cmd.console.Debugging.Debugger
	}
	switch cmd.format.String() {
	case "text":
		o.OnResult = func(r engine.TestResult) { writeResult(cmd.console, r) }
	case "ndjson":
		o.OnEvent = func(t engine.Test, r *engine.TestResult) { writeEvent(cmd.console, t, r) }
	}
	return o
}

// runWithTools runs the tests with the tools and the audit log that the flags specify. The report
// is nil if no test was started.
func (cmd *testCommand) runWithTools(ctx context.Context, p *engine.Program, o engine.TestOptions, seen func(path string)) (*testReport, error) {
	var of engine.Options
	of.WorkDir, of.Dir, of.Allow = cmd.console.Dir, cmd.console.Dir, o.Allow
	cmd.tools.Watch(cmd.console, seen)
	endTools, err := program.RegisterTestTools(ctx, cmd.console, &cmd.tools, p, &of, !cmd.live)
	if err != nil {
		return nil, err
	}
	endAudit, err := program.OpenAudit(cmd.console, p, &of, &cmd.audit)
	if err != nil {
		return nil, endTools(err)
	}
	o.Audit, o.Tools = of.Records.Audit, of.Tools
	began := time.Now()
	results, points, err := p.RunTests(ctx, o)
	err = endTools(endAudit(err))
	r := &testReport{Results: results, Took: time.Since(began)}
	if o.Cover && err == nil {
		r.Coverage = summarize(p, points)
	}
	return r, err
}

// selection validates the flags and returns a function that reports whether --filter selects a
// test.
func (cmd *testCommand) selection() (func(engine.Test) bool, error) {
	if ran := cmd.format.String() == "junit" || cmd.format.String() == "ndjson"; cmd.list && (ran || cmd.watch) {
		report := "--watch"
		if ran {
			report = "--format " + cmd.format.String()
		}
		return nil, console.Usage("leave one of them out", "--list cannot be used with %s", report)
	}
	if cmd.record != "" {
		if err := console.OneOf("--record", cmd.record, recordings); err != nil {
			return nil, err
		}
		if cmd.live {
			return nil, console.Usage("leave one of them out", "--live and --record cannot be used together")
		}
	}
	if cmd.parallel < 0 {
		return nil, console.Usage("use a number from 1, or leave it out", "invalid value %d for --parallel", cmd.parallel)
	}
	if cmd.filter == "" {
		return nil, nil
	}
	re, err := regexp.Compile(cmd.filter)
	if err != nil {
		return nil, console.Usage("escape special characters with a backslash, such as `\\(`", "--filter is not a regular expression: %v", err)
	}
	return func(t engine.Test) bool { return re.MatchString(t.Name) || re.MatchString(t.Function) }, nil
}

func matchesAny(tests []engine.Test, selected func(engine.Test) bool) bool {
	for _, t := range tests {
		if selected(t) {
			return true
		}
	}
	return false
}

// finishTests writes the part of the report that follows the results.
func (cmd *testCommand) finishTests(r *testReport) error {
	var err error
	switch cmd.format.String() {
	case "json":
		err = writeJSONReport(cmd.console.Stdout, r)
	case "junit":
		err = writeJUnitReport(cmd.console.Stdout, r)
	case "ndjson": // each line was written immediately
	default:
		writeSummary(cmd.console, r)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if cmd.html != "" {
		if err := console.WriteFile(cmd.console.Abs(cmd.html), r.Coverage.page()); err != nil {
			return console.Usage("", "write %s: %v", cmd.html, console.Cause(err))
		}
	}
	if r.failed() > 0 {
		return console.ExitError(console.ExitFailed)
	}
	return nil
}

// testPlace returns the test's place, for a failure that has no place.
func testPlace(t engine.Test) vm.Place {
	return vm.Place{Function: t.Function, File: t.File, Line: t.Line}
}
