package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/engine/report/page"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// ReportUsage is the help text of --report.
const ReportUsage = "write a report of what happened to `FILE` (.html, .json or .txt)"

// ReportForm returns the format of a report in a file: that of its extension, else html.
func ReportForm(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json":
		return "json"
	case ".txt":
		return "text"
	}
	return "html"
}

// EncodeReport returns a report in a format of ReportForm. It limits the texts of the report.
func EncodeReport(r *report.Report, format string) ([]byte, error) {
	r.Limit()
	write := r.WriteText
	switch format {
	case "json":
		write = r.WriteJSON
	case "html":
		write = func(w io.Writer) error { return page.Write(w, r) }
	}
	var b bytes.Buffer
	err := write(&b)
	return b.Bytes(), err
}

// WriteReport writes the file of a report. Other users cannot read it.
func WriteReport(a *console.Console, path string, text []byte) error {
	if err := console.WritePrivateFile(a.Abs(path), text); err != nil {
		return console.Unwritable("could not write report %s: %v", path, err)
	}
	return nil
}

// ReportFile is the value of --report: the file of a report that is written when a run or the tests
// have ended.
type ReportFile struct {
	Path string // "" for no report

	console *console.Console
	program *engine.Program
	began   time.Time
	id      string
	secrets *secret.Set
	builder *report.Builder // of a run

	mu    sync.Mutex
	tests map[string]*testPart // by the names of their functions
}

// testPart receives the events of a test.
type testPart struct {
	builder *report.Builder
	after   time.Duration
}

// Begin checks that the file can be written, before the program runs. dir is the directory in which
// the run is stored, or "".
func (f *ReportFile) Begin(a *console.Console, p *engine.Program, dir string) error {
	if f.Path == "" {
		return nil
	}
	f.console, f.program, f.began = a, p, time.Now()
	f.builder, f.tests = report.NewBuilder(true), map[string]*testPart{}
	path := a.Abs(f.Path)
	if inside, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(inside) {
		return console.Usage("name a file outside of the directory", "--report %s: the run is stored there", f.Path)
	}
	if err := console.CheckWritable(path); err != nil {
		return console.Usage("", "--report: write %s: %v", f.Path, err)
	}
	return nil
}

// Follow makes a run report its events.
func (f *ReportFile) Follow(o *engine.Options) {
	if f.Path != "" {
		o.Records.Sinks = append(o.Records.Sinks, f.builder.Sink())
		o.Records.OnBegin = func(id string, secrets *secret.Set) { f.id, f.secrets = id, secrets }
	}
}

// Sinks returns what receives the events of a test. It is a value of TestOptions.Sinks.
func (f *ReportFile) Sinks(t engine.Test) []event.Sink {
	f.mu.Lock()
	defer f.mu.Unlock()
	part := &testPart{report.NewBuilder(true), time.Since(f.began)}
	f.tests[t.File+":"+t.Function] = part
	return []event.Sink{part.builder.Sink()}
}

// End writes the report of a run that has ended with err. An error of writing is printed: it does
// not change the exit code.
func (f *ReportFile) End(o *engine.Options, err error) {
	if f.Path == "" {
		return
	}
	r, failed := f.builder.Report(f.program.IR())
	if failed == nil {
		r.Run.ID, r.Run.Inputs = f.id, f.secrets.JSON(o.Inputs)
		for _, arg := range o.Args {
			r.Run.Args = append(r.Run.Args, f.secrets.Text(arg))
		}
		r.SetTrace(o.Records.Telemetry.Trace(f.id))
		f.finish(r, err)
		r.SetCache(f.program.IR())
		failed = f.write(r)
	}
	if failed != nil {
		f.console.Complain(failed.Error(), "")
	}
}

// EndTests writes the report of tests.
func (f *ReportFile) EndTests(results []engine.TestResult, err error) {
	if f.Path == "" {
		return
	}
	var parts []report.Part
	for i := range results {
		x := &results[i]
		part := f.tests[x.File+":"+x.Function]
		if part == nil {
			part = &testPart{builder: report.NewBuilder(true)} // its tape could not be read
		}
		r, failed := part.builder.Report(f.program.IR())
		if failed != nil {
			f.console.Complain(failed.Error(), "")
			return
		}
		p := report.Part{Test: x.Name, Function: x.Function, After: part.after.Seconds(), Report: r}
		if x.Failure != nil {
			p.Failure = x.Failure.Message
			if err == nil {
				err = console.ExitError(console.ExitFailed)
			}
		}
		parts = append(parts, p)
	}
	r := report.Merge(parts)
	r.Run.Args, r.Run.Flags, r.Run.Env = []string{}, []string{}, []string{}
	f.finish(r, err)
	if err := f.write(r); err != nil {
		f.console.Complain(err.Error(), "")
	}
}

// finish sets the members of a report that describe the whole run.
func (f *ReportFile) finish(r *report.Report, err error) {
	now := time.Now()
	started, ended, took := f.began.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), now.Sub(f.began).Round(time.Microsecond).Seconds()
	r.Run.Program, r.Run.Source, r.Run.Version = f.program.MainFile(), report.FromRun, f.console.Binary.Release
	r.Run.Started, r.Run.Ended, r.Run.Seconds = &started, &ended, &took
	exit := f.console.CodeOf(err)
	r.Run.Exit, r.Run.State = &exit, durable.Finished
	var suspended *engine.Suspended
	switch {
	case exit == console.ExitWaiting:
		r.Run.Exit, r.Run.Ended, r.Run.State = nil, nil, durable.Waiting
	case errors.As(err, &suspended):
		r.Run.Exit, r.Run.Ended, r.Run.State = nil, nil, durable.Suspend
	case err != nil:
		r.Run.State = durable.Failed
	}
}

func (f *ReportFile) write(r *report.Report) error {
	text, err := EncodeReport(r, ReportForm(f.Path))
	if err != nil {
		return fmt.Errorf("could not write report %s: %w", f.Path, err)
	}
	return WriteReport(f.console, f.Path, text)
}
