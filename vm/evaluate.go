package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/ir"
)

// Evaluating for a debugger: functions are grafted onto the program that runs, and one of them is
// run while all tasks stand still.

// Graft loads the functions of an extended program, from the nth on. What comes before is the
// program as it was.
func (m *VM) Graft(p *ir.Program, n int) error {
	l := loader{m.image, &m.config}
	constants, code := len(p.Constants), len(m.code)
	if constants > cap(m.constants) || cap(m.code)-code < graftLeast {
		return errors.New("so much has been evaluated that there is no room for more: restart the program")
	}
	m.positionMap() // of the program as it was: nobody asks for positions in what is grafted
	if err := l.graftData(p, n); err != nil {
		return err
	}
	debugger := m.config.Application.Debugger
	m.config.Application.Debugger = nil // what is grafted has no marks
	defer func() { m.config.Application.Debugger = debugger }()
	for i := n; i < len(p.Functions); i++ {
		f := &m.functions[i]
		f.info, f.number = &p.Functions[i], i
		f.Name, f.Params, f.registers = f.info.Name, len(f.info.Params), f.info.Registers
	}
	for i := n; i < len(p.Functions); i++ {
		if len(m.code)+4*len(p.Functions[i].Code)+graftLeast > cap(m.code) {
			return errors.New("it is too large to be evaluated")
		}
		if err := l.loadFunction(&m.functions[i]); err != nil {
			return fmt.Errorf("load %s: %w", m.functions[i].Name, err)
		}
	}
	l.settle(code)
	return nil
}

// graftData adds what code refers to, and room for the functions from the nth on.
func (m *loader) graftData(p *ir.Program, n int) error {
	m.constants = m.constants[:len(m.program.Constants)] // without what stands for none
	for _, c := range p.Constants[len(m.program.Constants):] {
		m.constants = append(m.constants, constantOf(c))
	}
	if err := m.graftTables(p); err != nil {
		return err
	}
	m.functions = append(m.functions, make([]function, len(p.Functions)-n)...)
	m.closures = append(m.closures, make([]value.Slot, len(p.Functions)-n)...)
	m.program = p
	return nil
}

// settle gives the instructions from one on what they call.
func (m *loader) settle(code int) {
	m.resolveCalls(code)
	for pc := code; pc < len(m.code); pc++ {
		if in := &m.code[pc]; ir.Op(in.op) == ir.OpCallNative {
			if n, moved := m.debug.natives[in.imm]; moved {
				in.imm = n
			}
		}
	}
}

// graftLeast is how much room there must be.
const graftLeast = 1 << 12

// graftTables adds the types and natives that the extended program has besides.
func (m *loader) graftTables(p *ir.Program) error {
	was := m.program
	m.program = p
	defer func() { m.program = was }()
	if err := m.moreTypes(len(was.Types)); err != nil {
		return err
	}
	own := len(was.Natives)
	for i, name := range p.Natives[own:] {
		call := m.find(name)
		if call == nil {
			return fmt.Errorf("there is no library function %s", name)
		}
		if m.debug.natives == nil {
			m.debug.natives = map[int32]int32{}
		}
		m.debug.natives[int32(own+i)] = int32(len(m.natives)) // those of effects come between
		m.natives = append(m.natives, native{name, call})
	}
	return nil
}

// Evaluation is how a function of a graft is run.
type Evaluation struct {
	Function int
	Captured []value.Slot // of its closure
	// Quiet has it reach nothing outside: what it would have done is the error, a *Refused.
	Quiet bool
}

// Refused is why a quiet evaluation was ended.
type Refused struct{ Would string }

func (e *Refused) Error() string { return e.Would }

// Evaluate runs a function while the run's tasks stand still. The error is an *Uncaught when it
// failed.
func (m *VM) Evaluate(x Evaluation) (v value.Slot, err error) {
	f := &m.functions[x.Function]
	return m.evaluateIn(m.newTask(f, value.NewClosure(&f.Function, x.Captured...).Ref), x.Quiet)
}

// EvaluateClosure calls a closure quietly.
func (m *VM) EvaluateClosure(c value.Slot, args ...value.Slot) (v value.Slot, err error) {
	return m.evaluateIn(m.newTask(functionOf(c), c.Ref, args...), true)
}

func (m *VM) evaluateIn(t *task, quiet bool) (v value.Slot, err error) {
	current, ready, first, at := m.current, m.ready, m.made, m.atMark
	m.ready, m.evaluating, m.quiet, m.refused = queue{}, t, quiet, ""
	m.ready.push(t)
	m.evaluate(t, first)
	left := m.ready.tasks[m.ready.head:]
	m.current, m.ready, m.evaluating, m.quiet, m.atMark = current, ready, nil, false, at
	for _, y := range left {
		m.ready.push(y)
	}
	switch r := t.raised; {
	case m.refused != "":
		return v, &Refused{m.refused}
	case m.fatal != nil:
		return v, m.fatal
	case r != nil && r.cancelled:
		return v, context.Canceled
	case r != nil:
		return v, m.uncaught(r)
	}
	return t.result, nil
}

// evaluate lets the task, and those that it starts, go on until it has ended.
func (m *VM) evaluate(t *task, first int) {
	for !t.ended {
		if x := m.ready.pop(); x != nil {
			if m.guarded(x) == finished {
				m.ended(x)
			}
			if m.fatal != nil {
				return
			}
			continue
		}
		c, ok := m.arrivalSince(first)
		if !ok {
			t.stop = true
			for _, seq := range m.underWay() {
				if seq > first {
					m.pending[seq].quit()
				}
			}
			continue
		}
		m.takeCompletion(c)
	}
}

// arrivalSince waits for what comes to a request that was made after another; what comes to others
// is kept. ok is false, once, when the evaluation is to end.
func (m *VM) arrivalSince(first int) (c completion, ok bool) {
	over := m.ctx.Done()
	if m.evaluating.stop {
		over = nil
	}
	if len(m.waiting) > 0 && m.waiting[len(m.waiting)-1].seq > first {
		return m.performChosen(), true
	}
	for {
		m.serveErrands()
		m.arrived = m.inbox.drain(m.arrived)
		for i, c := range m.arrived {
			if c.seq > first {
				m.arrived = slices.Delete(m.arrived, i, i+1)
				return c, true
			}
		}
		select {
		case <-m.inbox.wake:
		case <-over:
			return c, false
		}
	}
}

// StopEvaluating ends what is being evaluated. It is called by Do.
func (m *VM) StopEvaluating() {
	if t := m.evaluating; t != nil {
		t.stop = true
	}
}

// refuses says whether a request of a quiet evaluation is refused, and notes what it would have
// done.
func (t *task) refuses(r effect.Request) bool {
	if !t.m.quiet || r.Kind() == effect.KindClock {
		return false
	}
	if t.m.refused == "" {
		t.m.refused = Deed(r)
	}
	t.m.evaluating.stop, t.stop = true, true
	return true
}

// Deed says what an effect does, as in `ask agent Judge`.
func Deed(r effect.Request) string {
	switch r := r.(type) {
	case *effect.AgentCall:
		return "ask agent " + r.Agent
	case *effect.ExchangeOpen:
		return "ask host " + r.Host
	case *effect.Emit:
		return fmt.Sprintf("emit %q", r.Channel)
	case *effect.AwaitEmit:
		return fmt.Sprintf("emit %q", r.Channel)
	case *effect.Print:
		return "print"
	case *effect.Log:
		return "write to the log"
	case *effect.Sleep:
		return "sleep"
	}
	return "do " + string(r.Kind())
}
