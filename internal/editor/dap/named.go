package dap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// point is a breakpoint by name: a kind of action that stops the run wherever the program performs
// it.
type point struct {
	what, of, detail string // what is the kind of the action and of its subject; detail is a message type, `request` or `reply`, or a function of a tool
}

// pointForms maps each kind of point to its syntax.
var pointForms = map[string]string{
	"host": "`host Coder \"question\"`", "emit": "`emit \"approve\"`", "agent": "`agent Judge request` or `agent Judge reply`", "tool": "`tool Db.count`",
}

// parsePoint parses a breakpoint by name. It returns nil if the text is a function name. wrong is
// the error message for an invalid text.
func parsePoint(text string) (p *point, wrong string) {
	words := strings.Fields(text)
	if len(words) < 2 || pointForms[words[0]] == "" {
		return nil, ""
	}
	p = &point{what: words[0], of: strings.Trim(words[1], `"`)}
	ok := len(words) == 2
	switch p.what {
	case "host":
		ok = len(words) == 3
		if ok {
			p.detail = strings.Trim(words[2], `"`)
		}
	case "agent":
		ok = len(words) == 3 && (words[2] == "request" || words[2] == "reply")
		if ok {
			p.detail = words[2]
		}
	case "tool":
		p.of, p.detail, _ = strings.Cut(p.of, ".")
		if p.of == "*" && p.detail == "" {
			p.detail = "*"
		}
		ok = ok && p.detail != ""
	}
	if !ok {
		return nil, "the form of this function breakpoint is " + pointForms[p.what] + ", with `*` for any name"
	}
	return p, ""
}

// matches reports whether the point selects an action.
func (p *point) matches(what, of, detail string) bool {
	like := func(pattern, name string) bool { return pattern == "*" || pattern == name }
	return p.what == what && like(p.of, of) && like(p.detail, detail)
}

// bindFunction finds the stop points of a function breakpoint: the first lines of all functions
// with its name.
func (r *Run) bindFunction(b *breakpoint) {
	p, wrong := parsePoint(b.name)
	switch {
	case wrong != "":
		b.message = wrong
		return
	case p != nil:
		if b.message = r.debuggee.describeMissing(p); b.message == "" {
			b.point = p
		}
		return
	}
	name := strings.ReplaceAll(b.name, "::", ".")
	for _, k := range r.debuggee.vm.StopPoints() {
		if k.Entry && k.Handler == "" && (k.Function == b.name || k.Function == name) {
			b.stopPoints = append(b.stopPoints, k)
			b.file, b.line, b.moved, b.movedColumn = r.s.path(k.Place), k.Line, k.Line, k.Column
		}
	}
	if len(b.stopPoints) == 0 {
		b.message = "the program has no function " + b.name
	}
}

// describeMissing returns the name in a point that the program does not declare, or "".
func (d *debuggee) describeMissing(p *point) string {
	program := d.vm.Program()
	has := map[string][]string{} // declared names by kind; for tools, the functions by tool
	functions := map[string][]string{}
	for i := range program.Hosts {
		has["host"] = append(has["host"], program.Hosts[i].Name)
	}
	for i := range program.Agents {
		has["agent"] = append(has["agent"], program.Agents[i].Name)
	}
	for i := range program.Tools {
		t := &program.Tools[i]
		has["tool"] = append(has["tool"], t.Name)
		for _, f := range t.Methods {
			functions[t.Name] = append(functions[t.Name], f.Name)
			functions["*"] = append(functions["*"], f.Name)
		}
	}
	all, ok := has[p.what], p.of == "*" || slices.Contains(has[p.what], p.of)
	switch {
	case p.what == "emit":
	case len(all) == 0:
		return "the program has no " + p.what
	case !ok:
		return fmt.Sprintf("the program has no %s %s: it has %s", p.what, p.of, strings.Join(all, ", "))
	case p.what == "tool" && p.detail != "*" && !slices.Contains(functions[p.of], p.detail):
		return fmt.Sprintf("tool %s has no function %s: it has %s", p.of, p.detail, strings.Join(functions[p.of], ", "))
	case p.what == "host" && p.detail != "*" && !d.hasHandler(p.detail):
		return fmt.Sprintf("the program has no handler for message %q", p.detail)
	}
	return ""
}

// hasHandler reports whether the program has a handler for a message type.
func (d *debuggee) hasHandler(message string) bool {
	return slices.ContainsFunc(d.vm.StopPoints(), func(k *vm.StopPoint) bool { return k.Handler == message })
}

func (s *session) setFunctionBreakpoints(r *dap.SetFunctionBreakpointsRequest) {
	x := &dap.SetFunctionBreakpointsResponse{Response: newResponse(r)}
	x.Body.Breakpoints = []dap.Breakpoint{}
	s.withRun(r, x, func(run *Run) {
		p := &run.debuggee.points
		p.remove(p.named)
		p.named = nil
		for _, g := range r.Arguments.Breakpoints {
			b := p.add(&breakpoint{name: strings.TrimSpace(g.Name), ask: breakOptions{condition: g.Condition, hits: g.HitCondition}})
			p.named = append(p.named, b)
			run.bindBreakpoint(b)
			if wrong := parseHits(b.ask.hits).wrong; wrong != "" {
				p.remove([]*breakpoint{b})
				b.stopPoints, b.point, b.message = nil, nil, wrong
			}
			x.Body.Breakpoints = append(x.Body.Breakpoints, run.describeBreakpoint(b))
		}
		run.debuggee.arm()
	})
}

// stopAtPoint stops the run if a breakpoint by name matches an action.
func (r *Run) stopAtPoint(at vm.Scene, what, of, detail string) {
	if r.debuggee.left {
		return
	}
	var all []*breakpoint
	for _, b := range r.debuggee.points.named {
		if b.point != nil && b.point.matches(what, of, detail) {
			all = append(all, b)
		}
	}
	x := &stopState{scene: &at, reason: "function breakpoint"}
	if x.ids = r.matchBreakpoints(x, all); len(x.ids) > 0 {
		r.stop(x)
	}
}

// stopAtEffect stops the run if a breakpoint matches an effect. came is true after the effect and
// false before it.
func (r *Run) stopAtEffect(at vm.Scene, q effect.Request, came bool) {
	detail := "request"
	if came {
		detail = "reply"
	}
	switch q := q.(type) {
	case *effect.AgentCall:
		r.stopAtPoint(at, "agent", q.Agent, detail)
	case *effect.StreamOpen:
		r.stopAtPoint(at, "agent", q.Agent, detail)
	case *effect.Emit:
		if !came {
			r.stopAtPoint(at, "emit", q.Channel, "")
		}
	case *effect.AwaitEmit:
		if !came {
			r.stopAtPoint(at, "emit", q.Channel, "")
		}
	}
}

// BeforeHandler is called when a handler is about to receive a host's message. It stops the run if
// a breakpoint matches.
func (r *Run) BeforeHandler(at vm.Scene, host string, m *effect.HostMessage) {
	r.debuggee.watch.recordMessage(host, m)
	r.stopAtPoint(at, "host", host, m.Type)
}

// Calls is called before a tool call. It stops the run if a breakpoint matches.
func (r *Run) Calls(at vm.Scene, tool, function string) { r.stopAtPoint(at, "tool", tool, function) }
