package guards

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// functions calls the functions of policies in this process. Their output and log are written to
// output, or discarded if it is nil.
type functions struct {
	console *console.Console
	output  io.Writer
}

// Call implements guard.Functions.
func (f *functions) Call(ctx context.Context, path string, approval json.RawMessage, waits func()) (*guard.Reviewed, error) {
	p, err := f.compile(path)
	if err != nil {
		return nil, err
	}
	function := engine.GuardOf(p)
	if function == nil {
		return nil, &guard.PolicyError{File: path, Text: "no function has the decorator `@guard`"}
	}
	a := f.console
	o := engine.Options{WorkDir: filepath.Dir(path), Environ: a.Environ, Executable: a.Binary.Executable, Output: engine.Output{To: f.output}, Log: f.output, LogLevel: a.LogLevel}
	text, err := engine.CallGuard(ctx, p, o, approval, waits)
	if failed, ok := errors.AsType[*engine.GuardError](err); ok {
		return nil, &guard.PolicyError{File: cmp.Or(failed.File, path), Line: failed.Line, Text: failed.Message}
	}
	if err != nil {
		return nil, err
	}
	var d struct {
		Decision hostpolicy.Verdict `json:"decision"`
		Reason   string             `json:"reason"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	return &guard.Reviewed{Verdict: d.Decision, Reason: d.Reason, Function: function.Name, File: function.File, Line: function.Line}, nil
}

// Sources implements guard.Functions.
func (f *functions) Sources(path string) (all []guard.Source, err error) {
	p, err := f.compile(path)
	if err != nil {
		return nil, err
	}
	for name, text := range engine.GuardSources(p) {
		all = append(all, guard.Source{Path: name, Text: text})
	}
	return all, nil
}

// compile returns the compiled program at path, from the cache if it is unchanged.
func (f *functions) compile(path string) (*engine.Program, error) {
	a := f.console
	p, found, err := engine.CompileSource(driver.Request{Path: path, Dir: filepath.Dir(path), Packages: a.Packages(), Programs: a.Programs()})
	if err != nil {
		return nil, &guard.PolicyError{File: path, Text: err.Error()}
	}
	for _, d := range found.Sorted() {
		if d.Severity() != diag.Error {
			continue
		}
		e := &guard.PolicyError{File: path, Text: d.Message}
		if d.File != nil {
			if e.File = d.File.Name; !filepath.IsAbs(e.File) {
				e.File = filepath.Join(filepath.Dir(path), e.File)
			}
			e.Line = d.File.LineOf(d.Span.Start)
		}
		return nil, e
	}
	return p, nil
}
