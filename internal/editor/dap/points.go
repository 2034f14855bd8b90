package dap

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/text/fileuri"
	"github.com/concerto-lang/concerto/vm"
)

// breakpoints holds the breakpoints of a session.
type breakpoints struct {
	next  int
	all   map[int]*breakpoint
	lines map[string][]*breakpoint // keys are paths
	named []*breakpoint
	at    map[*vm.StopPoint][]*breakpoint
	raise []*filter
}

// breakpoint is a breakpoint at a line, at a function or at a point.
type breakpoint struct {
	id           int
	file         string // absolute path
	line, column int    // position that the editor requested
	name         string // function name; "" for a breakpoint at a line
	stopPoints   []*vm.StopPoint
	point        *point // nil unless the breakpoint is a point
	message      string // reason why the breakpoint is not verified or was moved
	moved        int    // actual line, or 0 if the breakpoint was not moved
	movedColumn  int
	ask          breakOptions
}

// breakOptions contains the conditions of a breakpoint and the state of their evaluation.
type breakOptions struct {
	condition, hits, log string
	count                int64
	reported             bool // the editor has seen the error of the condition
}

// add stores a breakpoint and assigns its id.
func (p *breakpoints) add(b *breakpoint) *breakpoint {
	if p.all == nil {
		p.all, p.lines, p.at = map[int]*breakpoint{}, map[string][]*breakpoint{}, map[*vm.StopPoint][]*breakpoint{}
	}
	p.next++
	b.id = p.next
	p.all[b.id] = b
	return b
}

// remove deletes breakpoints.
func (p *breakpoints) remove(all []*breakpoint) {
	for _, b := range all {
		delete(p.all, b.id)
		for _, k := range b.stopPoints {
			p.at[k] = slices.DeleteFunc(p.at[k], func(o *breakpoint) bool { return o == b })
			if len(p.at[k]) == 0 {
				delete(p.at, k)
			}
		}
	}
}

// copyForRestart returns a copy of the breakpoints for another run. All hit counts are zero.
func (p *breakpoints) copyForRestart() breakpoints {
	q := breakpoints{next: p.next}
	copied := func(b *breakpoint) *breakpoint {
		x := &breakpoint{id: b.id, file: b.file, line: b.line, column: b.column, name: b.name, ask: breakOptions{condition: b.ask.condition, hits: b.ask.hits, log: b.ask.log}}
		q.all[b.id] = x
		return x
	}
	if p.all != nil {
		q.all, q.lines, q.at = map[int]*breakpoint{}, map[string][]*breakpoint{}, map[*vm.StopPoint][]*breakpoint{}
	}
	for file, all := range p.lines {
		for _, b := range all {
			if p.all[b.id] != nil {
				q.lines[file] = append(q.lines[file], copied(b))
			}
		}
	}
	for _, b := range p.named {
		if p.all[b.id] != nil {
			q.named = append(q.named, copied(b))
		}
	}
	for _, f := range p.raise {
		q.raise = append(q.raise, &filter{name: f.name, condition: f.condition})
	}
	return q
}

// forget deletes all breakpoints.
func (d *debuggee) forget() {
	d.points = breakpoints{next: d.points.next}
	d.plan = plan{}
	d.arm()
}

// bind finds the stop points of breakpoints that were set before the program was loaded.
func (p *breakpoints) bind(r *Run) {
	for id := 1; id <= p.next; id++ {
		if b := p.all[id]; b != nil {
			r.bindBreakpoint(b)
			r.s.send(&dap.BreakpointEvent{Event: newEvent("breakpoint"), Body: dap.BreakpointEventBody{Reason: "changed", Breakpoint: r.describeBreakpoint(b)}})
		}
	}
}

// bindBreakpoint finds the stop points of a breakpoint.
func (r *Run) bindBreakpoint(b *breakpoint) {
	b.stopPoints, b.message, b.moved, b.movedColumn = nil, "", 0, 0
	switch {
	case r.debuggee.vm == nil:
		b.message = "the program is not loaded yet"
		return
	case b.name != "":
		r.bindFunction(b)
	default:
		r.bindLine(b)
	}
	for _, k := range b.stopPoints {
		r.debuggee.points.at[k] = append(r.debuggee.points.at[k], b)
	}
}

// bindLine finds the stop points of a line. If the line has no code, it uses the next line that has
// code.
func (r *Run) bindLine(b *breakpoint) {
	best := 0
	found := false
	for _, k := range r.debuggee.vm.StopPoints() {
		if k.Kind != vm.StopLine || r.s.path(k.Place) != b.file {
			continue
		}
		found = true
		if k.Line >= b.line && (best == 0 || k.Line < best) {
			best = k.Line
		}
	}
	switch {
	case !found:
		b.message = "the program has no code in this file"
		return
	case best == 0:
		b.message = fmt.Sprintf("there is no code from line %d on", b.line)
		return
	case best != b.line:
		b.message = fmt.Sprintf("line %d has no code: moved to line %d", b.line, best)
	}
	b.moved = best
	for _, k := range r.debuggee.vm.StopPoints() {
		if k.Kind == vm.StopLine && k.Line == best && r.s.path(k.Place) == b.file {
			b.stopPoints = append(b.stopPoints, k)
			if b.movedColumn == 0 || k.Column < b.movedColumn {
				b.movedColumn = k.Column
			}
		}
	}
}

// describeBreakpoint converts a breakpoint to its DAP form.
func (r *Run) describeBreakpoint(b *breakpoint) dap.Breakpoint {
	x := dap.Breakpoint{Id: b.id, Verified: len(b.stopPoints) > 0 || b.point != nil, Message: b.message}
	if b.file != "" {
		x.Source = &dap.Source{Name: filepath.Base(b.file), Path: b.file}
		x.Line = r.s.lineOut(b.line)
	}
	if b.moved > 0 {
		x.Line = r.s.lineOut(b.moved)
		if b.column > 0 { // without a column, editors show the breakpoint for the whole line
			x.Column = r.s.columnOut(b.movedColumn)
		}
	}
	return x
}

// setBreakpoints sets the breakpoints of a file.
func (s *session) setBreakpoints(r *dap.SetBreakpointsRequest) {
	file := s.absolute(r.Arguments.Source)
	requested := r.Arguments.Breakpoints
	if requested == nil {
		for _, l := range r.Arguments.Lines {
			requested = append(requested, dap.SourceBreakpoint{Line: l})
		}
	}
	x := &dap.SetBreakpointsResponse{Response: newResponse(r)}
	x.Body.Breakpoints = []dap.Breakpoint{}
	s.withRun(r, x, func(run *Run) {
		p := &run.debuggee.points
		p.remove(p.lines[file])
		if p.lines != nil {
			p.lines[file] = nil
		}
		for _, g := range requested {
			b := p.add(&breakpoint{file: file, line: s.lineIn(g.Line), column: g.Column, ask: breakOptions{condition: g.Condition, hits: g.HitCondition, log: g.LogMessage}})
			p.lines[file] = append(p.lines[file], b)
			run.bindBreakpoint(b)
			if wrong := parseHits(b.ask.hits).wrong; wrong != "" {
				p.remove([]*breakpoint{b})
				b.stopPoints, b.message = nil, wrong
			}
			x.Body.Breakpoints = append(x.Body.Breakpoints, run.describeBreakpoint(b))
		}
		run.debuggee.arm()
	})
}

// withRun calls f with the run and sends the response. If no run is launched yet, it calls f after
// the launch.
func (s *session) withRun(r dap.RequestMessage, yes dap.Message, f func(*Run)) {
	if s.run == nil {
		s.run = newRun(s)
	}
	if !s.launched && !s.attached {
		f(s.run)
		s.send(yes)
		return
	}
	if !s.run.do(func() { f(s.run); s.send(yes) }) {
		s.replyError(r, "the program has ended")
	}
}

// reason returns the DAP stop reason for the breakpoints with these ids.
func (p *breakpoints) reason(ids []int) string {
	for _, id := range ids {
		if b := p.all[id]; b != nil && b.name == "" {
			return "breakpoint"
		}
	}
	return "function breakpoint"
}

// absolute returns the absolute path of an editor's source.
func (s *session) absolute(x dap.Source) string {
	path, ok := fileuri.Path(x.Path, runtime.GOOS)
	if !ok {
		path = x.Path
	}
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(s.cwd(), path)
	}
	return realPath(path)
}
