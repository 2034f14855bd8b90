package vm

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Application describes the application around a run. The zero value means that there is none.
type Application struct {
	Run     string // the run's ID, the prefix of the keys of its calls
	Tools   bool   // the application may provide tools
	Audited bool   // calls of tools are recorded in an audit log
	Grows   bool   // Grow may add to the program
	// Debugger, if set, receives control at breakpoints and steps.
	Debugger Debugger
}

// Application returns the application around the run.
func (a *Args) Application() Application { return a.run().config.Application }

// SetApplication sets the application around the run. It must be called before the run begins.
func (m *VM) SetApplication(x Application) { m.config.Application = x }

// Caller returns the name of the innermost function of the program that calls a native of the
// library, or "" if there is none.
func (a *Args) Caller() string {
	t := a.run().sched.current
	var at []Place
	pc := t.pc()
	for fp := t.fp; pc > 0; {
		at = t.m.image.placesAt(at[:0], pc)
		for _, p := range at {
			if !p.library() {
				name, _, _ := strings.Cut(p.Function, " ") // without which of its tasks
				return name
			}
		}
		fp, pc = t.caller(fp)
	}
	return ""
}

// NextEffect returns the number of the run's next effect, counted from 1.
func (a *Args) NextEffect() int64 { return a.run().stats.Requests + 1 }

// AppTools returns the filters that select which of the application's tools argument i, an agent, a
// host or nil, may call. It returns nil if all are allowed.
func (a *Args) AppTools(i int) *[]string {
	s := a.Slot(i)
	p := s.Party()
	switch {
	case p == nil:
		return nil
	case p[value.PartyToolsOff].AsBool():
		return &[]string{}
	case s.Kind() == value.KindAgent:
		return a.Agent(i).AppTools
	}
	return a.Host(i).AppTools
}
