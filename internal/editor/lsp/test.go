package lsp

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// testParams names the tests to run: the tests of a document with these names, or all of its tests.
type testParams struct {
	URI   protocol.DocumentURI `json:"uri"`
	Names []string             `json:"names,omitempty"`
	Debug bool                 `json:"debug,omitempty"`
}

// testEvent reports the start or the result of a test to the client.
type testEvent struct {
	Run      string             `json:"run"`
	Name     string             `json:"name"`
	State    string             `json:"state"`        // "started", "passed", "failed" or "skipped"
	MS       *float64           `json:"ms,omitempty"` // duration in milliseconds; nil until the test has ended
	Message  string             `json:"message,omitempty"`
	Diff     string             `json:"diff,omitempty"`
	Location *protocol.Location `json:"location,omitempty"`
}

const methodTestEvent = "concerto/testEvent"

// testOutcome is a test in the output of `concerto test`. It is an entry of --list, or a line of
// --format ndjson if it has a status.
type testOutcome struct {
	Name, Function, File, Status string
	DurationMS                   float64 `json:"duration_ms"`
	Failure                      *struct {
		Message, Diff string
		Place         *struct {
			File         string
			Line, Column int
		}
	}
}

// test runs tests of a document and reports each of them. With debug set, it runs nothing and
// returns a launch configuration.
func (c *call) test(p *testParams) (any, error) {
	program, err := c.savedProgram(p.URI)
	if err != nil {
		return nil, err
	}
	path := c.path(p.URI)
	all, err := c.listTests(program, path, p.Names)
	if err != nil {
		return nil, err
	}
	if p.Debug {
		var out protocol.List[launch]
		for _, t := range all {
			out = append(out, launch{product, "launch", "Debug " + t.Function, program.Path, nil, t.Function})
		}
		return out, nil
	}
	r := &testRun{call: c, path: path, dir: c.child(program).Dir, open: map[string]bool{}, last: map[testOf]*testEvent{}}
	var pattern []string
	for _, t := range all {
		r.open[t.Function] = true
		pattern = append(pattern, regexp.QuoteMeta(t.Name))
	}
	defer r.end()
	defer c.showProgress("Testing " + filepath.Base(path))()
	return nil, r.run(program, "^("+strings.Join(pattern, "|")+")$")
}

// listTests returns the tests of a document with these names, or all of its tests.
func (c *call) listTests(program *analysis.Program, path string, names []string) ([]testOutcome, error) {
	var out bytes.Buffer
	child := c.child(program, "test", "--list", "--format", "json", program.Path)
	if err := c.runToSuccess(child, &out); err != nil {
		return nil, err
	}
	var all []testOutcome
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		return nil, err
	}
	here := slices.DeleteFunc(all, func(t testOutcome) bool {
		wanted := len(names) == 0 || slices.Contains(names, t.Function) || slices.Contains(names, t.Name)
		return !wanted || c.snapshot.Real(relPath(child.Dir, t.File)) != c.snapshot.Real(path)
	})
	if len(here) == 0 {
		return nil, refusal(errors.New("no such test in " + filepath.Base(path)))
	}
	return here, nil
}

// relPath returns a path relative to the working directory dir of a command.
func relPath(dir, file string) string {
	if file = filepath.FromSlash(file); filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// testRun is the state of a run of tests.
type testRun struct {
	*call
	path, dir string
	open      map[string]bool // tests that have not ended
	last      map[testOf]*testEvent
	begun     bool // a test has begun, so the program compiles
}

func (r *testRun) run(program *analysis.Program, pattern string) error {
	var stderr bytes.Buffer
	out := &lineWriter{line: r.line}
	child := r.child(program, "test", "--filter", pattern, "--format", "ndjson", program.Path)
	child.Stdout, child.Stderr = out, &stderr
	_, err := r.server.Command(r, child)
	switch {
	case r.Err() != nil:
		return r.Err()
	case err != nil:
		return refusal(err)
	case !r.begun:
		return refusal(errors.New(strings.TrimSpace(stderr.String())))
	}
	return nil
}

// line handles a line of the command's output.
func (r *testRun) line(text string) {
	var t testOutcome
	if json.Unmarshal([]byte(text), &t) != nil || !r.open[t.Function] || r.snapshot.Real(relPath(r.dir, t.File)) != r.snapshot.Real(r.path) {
		return
	}
	r.begun = true
	e := &testEvent{Name: t.Function, State: t.Status}
	if t.Failure != nil {
		e.Message, e.Diff = t.Failure.Message, t.Failure.Diff
		if at := t.Failure.Place; at != nil && at.Line > 0 {
			e.Location = r.failureLocation(relPath(r.dir, at.File), at.Line, at.Column)
		}
	}
	if e.State != "started" {
		e.MS = &t.DurationMS
		delete(r.open, t.Function)
		r.last[testOf{r.path, t.Function}] = e
	}
	r.event(e)
}

func (r *testRun) event(e *testEvent) {
	e.Run = strings.Trim(string(r.id), `"`)
	r.runInLoop(func() { r.loop.notify(methodTestEvent, e) })
}

// end reports the tests that did not run as skipped and stores the results of the others.
func (r *testRun) end() {
	for _, name := range slices.Sorted(maps.Keys(r.open)) {
		r.event(&testEvent{Name: name, State: "skipped"})
	}
	r.runInLoop(func() {
		r.loop.updateView(func(v *view) {
			v.tests = maps.Clone(v.tests)
			if v.tests == nil {
				v.tests = map[testOf]*testEvent{}
			}
			maps.Copy(v.tests, r.last)
		})
		r.loop.refreshLenses()
	})
}

// failureLocation returns the location of a failure. Columns in the report count code points.
func (c *call) failureLocation(file string, line, column int) *protocol.Location {
	at := protocol.Position{Line: uint32(line - 1), Character: uint32(max(0, column-1))}
	if f := c.snapshot.File(file); f != nil && line <= f.Lines() {
		at = c.translation().lines(f).position(int(f.Pos(line, column)))
	}
	return &protocol.Location{URI: c.uriOf(file), Range: protocol.Range{Start: at, End: at}}
}
