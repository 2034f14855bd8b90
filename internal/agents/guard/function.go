package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Functions calls the @guard functions of policies.
type Functions interface {
	// Call calls the function of the program at path with a HostApproval. The function calls waits
	// before it requests something that may take long, such as the reply of an agent. The error is
	// a *PolicyError if its place is known.
	Call(ctx context.Context, path string, approval json.RawMessage, waits func()) (*Reviewed, error)
	// Sources returns the source files of the program at path, its modules included. The error is a
	// *PolicyError if its place is known.
	Sources(path string) ([]Source, error)
}

// Source is a source file. Path is absolute.
type Source struct{ Path, Text string }

// Reviewed is the decision of a function. File is its absolute path.
type Reviewed struct {
	Verdict        hostpolicy.Verdict
	Reason         string
	Function, File string
	Line           int
}

// keyProgram is the key of decisions of functions.
const keyProgram = "program"

// reserve is the part of the deadline that a function leaves for the ledger and the answer.
const reserve = time.Second

// errLate is the cause of the end of a function that takes too long.
var errLate = errors.New("the function has not decided in time")

// program returns the absolute path of the policy's program, or "".
func (p *Policy) program() string {
	name := p.rules.Program
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.file), filepath.FromSlash(name))
}

// programs returns the source files of the programs of policies.
func programs(policies []*Policy) (paths []string) {
	for _, p := range policies {
		if path := p.program(); path != "" {
			paths = append(paths, path)
		}
		for _, s := range p.sources {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// readSources reads the source files of the policy's program.
func (p *Places) readSources(x *Policy) {
	path := x.program()
	switch {
	case path == "":
	case p.Functions == nil:
		x.broken = &PolicyError{File: path, Text: "functions cannot be called here"}
	default:
		x.sources, x.broken = p.Functions.Sources(path)
	}
}

// review returns d, or the decision of the policy's function about the call if it is stricter. Of
// equal ones, that of a function comes before the default of the rules.
func (p *Places) review(x *Policy, c *Call, d Decision) Decision {
	f := Decision{File: x.program(), Key: keyProgram, unattended: x.rules.Unattended, wait: x.rules.Wait}
	if x.distrusted && x.broken == nil {
		f.Verdict, f.Reason = hostpolicy.Ask, errorIn(c.Dir, &PolicyError{File: f.File, Text: "it is not executed before `concerto guard trust`"})
		return stricter(d, x.weigh(f))
	}
	began := time.Now()
	got, err := p.call(x, c)
	if took := int64(time.Since(began) / time.Second); took > 0 {
		c.waited += took // the function and the person share the time
	}
	if place, ok := errors.AsType[*PolicyError](err); ok {
		f.File, f.Line = place.File, place.Line
	}
	switch {
	case err != nil:
		f.Verdict, f.Reason = hostpolicy.Deny, errorIn(c.Dir, err)
	default:
		f.Verdict, f.Rule, f.File, f.Line = got.Verdict, got.Function, got.File, got.Line
		f.Reason = errorIn(c.Dir, &PolicyError{got.File, got.Line, got.Function})
		if got.Reason != "" {
			f.Reason += ": " + got.Reason
		}
	}
	if f.Verdict == d.Verdict && f.Verdict != hostpolicy.Pass && d.Rule == "" {
		d, f = f, d
	}
	return stricter(d, f)
}

// repeated returns the decision about a call whose functions have decided before, when the agent
// asks a person about it. d is that of the rules.
func (c *Call) repeated(policies []*Policy, d Decision) (Decision, bool) {
	if c.earlier == nil {
		return d, false
	}
	was := c.earlier(policies)
	if was == nil {
		return d, false
	}
	at := slices.IndexFunc(policies, func(x *Policy) bool { return x.program() != "" })
	rules := &policies[at].rules
	return stricter(d, Decision{Verdict: hostpolicy.Verdict(was.Decision), Reason: was.Reason, File: policies[at].program(), Key: keyProgram, unattended: rules.Unattended, wait: rules.Wait}), true
}

// errorIn returns the text of an error as it is shown to somebody in a directory.
func errorIn(dir string, err error) string {
	if place, ok := errors.AsType[*PolicyError](err); ok {
		err = &PolicyError{shownIn(dir, place.File), place.Line, place.Text}
	}
	return err.Error()
}

// call calls the function of a policy. It has the time of the deadline, or that of `wait` if it
// waits for something.
func (p *Places) call(x *Policy, c *Call) (*Reviewed, error) {
	path := x.program()
	if x.broken != nil {
		return nil, x.broken
	}
	approval, err := p.approval(x, c)
	if err != nil {
		return nil, &PolicyError{File: path, Text: err.Error()}
	}
	short := cmp.Or(c.deadline, Deadline)
	short -= min(reserve, short/4)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var limit atomic.Int64
	limit.Store(int64(short))
	late := time.AfterFunc(short, func() { cancel(errLate) })
	defer late.Stop()
	waits := sync.OnceFunc(func() {
		if long := time.Duration(x.rules.Wait-c.waited) * time.Second; long > short && late.Stop() {
			limit.Store(int64(long))
			if c.extend != nil {
				c.extend(long)
			}
			late.Reset(long)
		}
	})
	type result struct {
		got *Reviewed
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if broken := recover(); broken != nil {
				r = result{err: &PolicyError{File: path, Text: fmt.Sprintf("the function could not be called: %v", broken)}}
			}
			done <- r
		}()
		r.got, r.err = p.Functions.Call(ctx, path, approval, waits)
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		select {
		case r = <-done:
		case <-time.After(min(reserve, short) / 2): // something does not end
			return nil, &PolicyError{File: path, Text: errLate.Error()}
		}
	}
	if errors.Is(context.Cause(ctx), errLate) {
		e := &PolicyError{File: path}
		if place, ok := errors.AsType[*PolicyError](r.err); ok {
			e.File, e.Line = place.File, place.Line
		}
		e.Text = fmt.Sprintf("the function has not decided within %v", time.Duration(limit.Load()))
		return nil, e
	}
	return r.got, r.err
}

// approval returns the call as a HostApproval, as a host sends it. Paths in the directory of the
// policy are relative to it.
func (p *Places) approval(x *Policy, c *Call) (json.RawMessage, error) {
	kind := c.Kind
	if kind == "mcp" {
		kind = "" // a tool with a name of its own
	}
	m := map[string]any{"tool": c.Tool, "args": c.Args, "payload": map[string]string{"agent": c.Agent, "cwd": c.Dir}}
	if kind != "" {
		m["kind"] = kind
	}
	if c.id != "" {
		m["id"], m["call"] = c.id, c.id
	}
	if c.subagent != "" {
		m["agent"] = map[string]string{"id": c.subagent, "name": c.subagent}
	}
	var paths []string
	for _, path := range c.request.Paths {
		paths = append(paths, p.inPolicy(x, c, path))
	}
	if paths != nil {
		m["paths"] = paths
	}
	text, err := jsonwrite.Encode(m)
	if err != nil {
		return nil, err
	}
	v := request.Of(text, nil)
	what := v.Command
	if what == "" {
		what = strings.Join(paths, ", ")
	}
	m["description"] = strings.TrimSuffix(c.Tool+": "+what, ": ")
	return jsonwrite.Encode(m)
}

// inPolicy returns a path of the call without links, relative to the directory of the policy if it
// is below it.
func (p *Places) inPolicy(x *Policy, c *Call, path string) string {
	path = resolved(p.join(c.request.Dir, path))
	if rel, err := filepath.Rel(resolved(x.base), path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}

// resolved returns a path without links. The file need not exist.
func resolved(path string) string {
	var rest []string
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			slices.Reverse(rest)
			return filepath.Join(append([]string{real}, rest...)...)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(path)
		}
		rest = append(rest, filepath.Base(at))
	}
}
