package session

import (
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// stepper stops the run before each line of the program's own files, until the page continues it.
type stepper struct {
	vm.NotObserved
	vm.NoDebugger
	session *Session
	next    chan bool // true continues to the end
	free    atomic.Bool
}

func newStepper(s *Session) *stepper { return &stepper{session: s, next: make(chan bool, 1)} }

// proceed continues a run that has stopped.
func (x *stepper) proceed(toEnd bool) {
	select {
	case x.next <- toEnd:
	default: // the run has not stopped since the last call
	}
}

// Variable is a variable of the line at which a run has stopped.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxValue is the maximum length of a shown value.
const maxValue = 200

// Debugger implements vm.Observer.
func (x *stepper) Debugger() vm.Debugger { return x }

// Loaded sets the stop points of all lines.
func (x *stepper) Loaded(m *vm.VM) {
	m.SetAll(func(k *vm.StopPoint) bool { return k.Kind == vm.StopLine })
}

// Reached stops the run.
func (x *stepper) Reached(at vm.Scene, k *vm.StopPoint) {
	if x.free.Load() {
		return
	}
	variables := []Variable{}
	if f, ok := at.Top(false); ok {
		for _, l := range f.Locals {
			text := []rune(value.Text(l.Value))
			if len(text) > maxValue {
				text = append(text[:maxValue], '…')
			}
			variables = append(variables, Variable{l.Name, string(text)})
		}
	}
	x.session.send(Event{"at", map[string]any{"file": k.File, "line": k.Line, "function": k.Function, "variables": variables}})
	if <-x.next {
		x.free.Store(true)
	}
	x.session.send(Event{Kind: "computing"})
}
