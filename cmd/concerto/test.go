package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto"
)

// testFlags are the flags of test.
type testFlags struct {
	filter   string
	format   string
	parallel int
	timeout  float64
	seed     int64
	live     bool
	watch    bool
	cover    bool
	html     string
	wire     string

	permissions permissionFlags
	audit       auditFlags
	tools       toolFlags
}

var testFormats = []string{"text", "json", "junit"}

func (a *app) testCommand() *cobra.Command {
	var f testFlags
	c := &cobra.Command{
		Use:   "test [PATH]",
		Short: "Run a program's tests",
		Long: `Runs the @test functions of a program, each by itself, and reports on stdout. A
test reaches no model, host or network: it mocks what it needs, and its clock
stands still but for what it waits for.

  concerto test                       the project here or above
  concerto test triage.conc           one file
  concerto test --filter 'numbers ::' what has this in its name
  concerto test -v                    also what each test emitted and printed
  concerto test --coverage            which lines and handlers the tests reach
  concerto test --watch               again at each change

A test that runs for more than 60 seconds of real time is ended and has failed; the
others go on. --timeout, or [limits] max_test_seconds, allows more or less.

With --live, agents and hosts that a test does not mock are reached for real.
Files and environment variables are the real ones, where a test mocks none.

` + permissionHelp("concerto test") + `

Exit codes: 0 all passed, 1 a test failed, 2 the program did not compile.`,
		Args: onePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := path(c, args)
			return a.test(c.Context(), p, &f)
		},
	}
	c.Flags().StringVar(&f.filter, "filter", "", "run the tests whose name matches the regular `EXPRESSION`")
	c.Flags().StringVar(&f.format, "format", "text", "`FORM` of the report: text, json or junit")
	c.Flags().IntVar(&f.parallel, "parallel", 0, "run `N` tests at a time (default one a processor)")
	c.Flags().Float64Var(&f.timeout, "timeout", 0, "end a test after `SECONDS` of real time; -1 never (default 60, or [limits] max_test_seconds)")
	c.Flags().Int64Var(&f.seed, "seed", 0, "draw the random numbers of each test from seed `N`")
	c.Flags().BoolVar(&f.live, "live", false, "let tests reach agents, hosts and the network where they mock nothing")
	c.Flags().BoolVar(&f.watch, "watch", false, "run the tests again whenever a file that they depend on changes, until Ctrl-C")
	c.Flags().BoolVar(&f.cover, "coverage", false, "report which lines and listen handlers the tests reach")
	c.Flags().StringVar(&f.html, "coverage-html", "", "write the coverage as a page to `FILE`")
	c.Flags().StringVar(&f.wire, "wire", "", wireUsage)
	f.permissions.add(c)
	f.audit.add(c)
	f.tools.add(c)
	return c
}

// testReport is what a run of tests came to.
type testReport struct {
	Results  []concerto.TestResult
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

func (a *app) test(parent context.Context, path string, f *testFlags) error {
	selected, err := f.selection()
	if err != nil {
		return err
	}
	grants, err := f.permissions.grants()
	if err != nil {
		return err
	}
	if filepath.Ext(path) == concerto.IRExt {
		return usage("name the source file or the project", "%s: a compiled program holds no tests", path)
	}
	ctx, signals := catch(parent)
	defer signals.stop()
	<-signals.ready
	run := func(_ context.Context, seen func(path string)) error {
		return a.testOnce(ctx, path, f, grants, selected, signals.kill, seen)
	}
	if !f.watch {
		return run(ctx, func(string) {})
	}
	return a.watch(ctx, false, run)
}

// testOnce compiles and runs the tests. It calls seen with each file that they
// depend on.
func (a *app) testOnce(ctx context.Context, path string, f *testFlags, allow concerto.Grants, selected func(concerto.Test) bool, kill <-chan struct{}, seen func(path string)) (failed error) {
	p, found, err := concerto.CompileSource(concerto.Source{Path: path, Dir: a.dir, Tests: true, Seen: seen})
	if err != nil {
		return refused(err)
	}
	if err := a.show(found); err != nil {
		return err
	}
	tests := p.Tests()
	if f.filter != "" && len(tests) > 0 && !matchesAny(tests, selected) {
		return usage("`concerto test` alone runs all of them", "no test's name matches %q", f.filter)
	}
	o := concerto.TestOptions{Select: selected, Parallel: f.parallel, Seed: f.seed, Live: f.live, Limit: time.Duration(f.timeout * float64(time.Second)), Environ: a.environ, Executable: a.executable, WorkDir: a.dir, Allow: allow,
		Cover: f.cover || f.html != "", Kill: kill, Log: a.logs(), LogLevel: a.logLevel}
	if f.format == "text" {
		o.OnResult = a.tellResult
	}
	if f.wire != "" {
		if err := a.unplayedBy(p, f.wire); err != nil {
			return err
		}
		file, err := a.recordFile("--wire", f.wire)
		if err != nil {
			return err
		}
		defer func() { failed = closeRecord(failed, file, f.wire) }()
		o.Wire = file
	}
	var of concerto.Options
	of.WorkDir, of.Dir, of.Allow = a.dir, a.dir, allow
	f.tools.watched(a, seen)
	endTools, err := a.toolsFor(ctx, &f.tools, p, &of, !f.live)
	if err != nil {
		return err
	}
	endAudit, err := a.audited(p, &of, &f.audit)
	if err != nil {
		return endTools(err)
	}
	o.Audit, o.Tools = of.Records.Audit, of.Tools
	began := time.Now()
	results, points, err := p.RunTests(ctx, o)
	err = endTools(endAudit(err))
	for _, r := range results {
		for _, file := range r.Record.Files {
			seen(a.abs(file))
		}
	}
	if err != nil {
		return err
	}
	r := &testReport{Results: results, Took: time.Since(began)}
	if o.Cover {
		r.Coverage = summarize(p, points)
	}
	return a.finishTests(r, f)
}

// selection is --filter as a choice of tests, with the other flags checked.
func (f *testFlags) selection() (func(concerto.Test) bool, error) {
	if err := oneOf("--format", f.format, testFormats); err != nil {
		return nil, err
	}
	if f.parallel < 0 {
		return nil, usage("--parallel takes a number from 1 on", "--parallel cannot be %d", f.parallel)
	}
	if f.filter == "" {
		return nil, nil
	}
	re, err := regexp.Compile(f.filter)
	if err != nil {
		return nil, usage("write special characters with a backslash before them, as in `\\(`", "--filter is not a regular expression: %v", err)
	}
	return func(t concerto.Test) bool { return re.MatchString(t.Name) || re.MatchString(t.Function) }, nil
}

func matchesAny(tests []concerto.Test, selected func(concerto.Test) bool) bool {
	for _, t := range tests {
		if selected(t) {
			return true
		}
	}
	return false
}

// finishTests writes the part of the report that has not been written yet.
func (a *app) finishTests(r *testReport, f *testFlags) error {
	var err error
	switch f.format {
	case "json":
		err = writeJSONReport(a.stdout, r)
	case "junit":
		err = writeJUnitReport(a.stdout, r)
	default:
		a.tellSummary(r)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if f.html != "" {
		if err := writeFile(a.abs(f.html), r.Coverage.page()); err != nil {
			return usage("", "write %s: %v", f.html, cause(err))
		}
	}
	if r.failed() > 0 {
		return exitError(exitFailed)
	}
	return nil
}

// testPlace is where a failure is shown when no place in it is to blame.
func testPlace(t concerto.Test) concerto.Place {
	return concerto.Place{Function: t.Function, File: t.File, Line: t.Line}
}
