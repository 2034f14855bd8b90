package vm

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Application describes the application in which a run is embedded. The zero value means that the
// run has no application.
type Application struct {
	Run     string // ID of the run, the prefix of the keys of its calls
	Tools   bool   // the application may provide tools
	Audited bool   // an audit log records the calls of tools
	Grows   bool   // Grow may add code to the program
}

// Application returns the application in which the run is embedded.
func (a *Args) Application() Application { return a.run().config.Application }

// SetApplication sets the application in which the run is embedded. It must be called before the
// run begins.
func (m *VM) SetApplication(x Application) { m.config.Application = x }

// Caller returns the name of the innermost function of the program that called, directly or through
// the library, the current native. It returns "" if there is none.
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

// ReportStep reports a step of the library to the observer of the run, if it has one. A step that
// is reported in this way is no effect, and has no number.
func (a *Args) ReportStep(step func() *effect.Step) {
	if t := a.run().sched.current; t.activity() != nil {
		t.activity().Requested(0, Scene{t}, step())
	}
}

// NextEffect returns the number of the run's next effect, counted from 1.
func (a *Args) NextEffect() int64 { return a.run().stats.Requests + 1 }

// AppTools returns the filters that select the application's tools that argument i may call.
// Argument i is an agent, a host or nil. AppTools returns nil if all tools are allowed.
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
