package vm

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Application is what the VM knows of what is around a run. The zero value is nothing.
type Application struct {
	Run     string // its id, with which the keys of calls begin
	Tools   bool   // there is an application that may have tools
	Audited bool   // calls of tools are recorded
	Grows   bool   // Grow is to add to the program
	// Debugger, when set, has the run stand still where it likes.
	Debugger Debugger
}

// Application is what is around the run.
func (a *Args) Application() Application { return a.run().config.Application }

// In says what is around the run, which has not begun yet.
func (m *VM) In(x Application) { m.config.Application = x }

// Caller names the innermost function of the program that a native of the library is
// called for, "" when there is none.
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

// NextEffect is the number of the next effect that the run makes, from 1.
func (a *Args) NextEffect() int64 { return a.run().stats.Requests + 1 }

// AppTools gives which of the application's tools argument i, an agent, a host or nil,
// may call: filters, or nil for all.
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
