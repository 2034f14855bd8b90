package dap

import (
	"sort"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/vm"
)

// breakpointLocations answers with the positions in a range of lines at which a breakpoint can stop
// the run.
func (s *session) breakpointLocations(r *dap.BreakpointLocationsRequest) {
	if r.Arguments == nil {
		s.replyError(r, "breakpointLocations: `source` and `line` are missing")
		return
	}
	x := &dap.BreakpointLocationsResponse{Response: newResponse(r)}
	x.Body.Breakpoints = []dap.BreakpointLocation{}
	file := s.absolute(r.Arguments.Source)
	from := s.lineIn(r.Arguments.Line)
	to := from
	if r.Arguments.EndLine > 0 {
		to = s.lineIn(r.Arguments.EndLine)
	}
	s.withRun(r, x, func(run *Run) {
		if run.debuggee.vm == nil {
			return
		}
		seen := map[[2]int]bool{}
		for _, k := range run.debuggee.vm.StopPoints() {
			at := [2]int{k.Line, k.Column}
			if k.Kind != vm.StopLine || k.Line < from || k.Line > to || seen[at] || s.path(k.Place) != file {
				continue
			}
			seen[at] = true
			x.Body.Breakpoints = append(x.Body.Breakpoints, dap.BreakpointLocation{Line: s.lineOut(k.Line), Column: s.columnOut(k.Column)})
		}
		all := x.Body.Breakpoints
		sort.Slice(all, func(i, j int) bool {
			return all[i].Line < all[j].Line || all[i].Line == all[j].Line && all[i].Column < all[j].Column
		})
	})
}

// gotoTargets answers with the position in a line at which the stopped task can continue. The list
// is empty if there is none.
func (s *session) gotoTargets(r *dap.GotoTargetsRequest) {
	file, line := s.absolute(r.Arguments.Source), s.lineIn(r.Arguments.Line)
	s.withStopped(r, func(at *stopState) {
		x := &dap.GotoTargetsResponse{Response: newResponse(r)}
		x.Body.Targets = []dap.GotoTarget{}
		for i, k := range s.run.debuggee.vm.StopPoints() {
			if k.Kind == vm.StopLine && k.Line == line && s.path(k.Place) == file && at.scene.CanGoTo(k) == nil {
				x.Body.Targets = append(x.Body.Targets, dap.GotoTarget{Id: i + 1, Label: k.Function, Line: s.lineOut(k.Line), Column: s.columnOut(k.Column)})
				break
			}
		}
		s.send(x)
	})
}

func (s *session) gotoTarget(r *dap.GotoRequest) {
	s.withStopped(r, func(at *stopState) {
		all, n := s.run.debuggee.vm.StopPoints(), r.Arguments.TargetId
		if n < 1 || n > len(all) {
			s.replyError(r, "goto: unknown target %d", n)
			return
		}
		if err := at.scene.GoTo(all[n-1]); err != nil {
			s.replyError(r, "%v", err)
			return
		}
		s.send(&dap.GotoResponse{Response: newResponse(r)})
		at.stopPoint, at.reason = all[n-1], "goto"
		s.run.debuggee.refs.forget()
		s.send(&dap.StoppedEvent{Event: newEvent("stopped"), Body: dap.StoppedEventBody{Reason: "goto", Description: describe["goto"], ThreadId: s.run.debuggee.threadID(*at.scene), AllThreadsStopped: true}})
	})
}
