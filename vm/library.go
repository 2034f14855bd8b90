package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Natives that read data of the run in addition to their arguments use these functions. Outside of
// a run the functions raise a fault.

// run returns the run.
func (a *Args) run() *VM {
	if a.vm == nil {
		panic(value.Faultf("%s: it is called outside a run", a.name))
	}
	return a.vm
}

// Program returns the running program. The caller must not modify it.
func (a *Args) Program() *ir.Program { return a.run().image.program }

// Party returns argument i, an agent or a host.
func (a *Args) Party(i int) value.Party {
	p := a.Slot(i).Party()
	if p == nil {
		a.WrongKind(i, "an Agent or a Host")
	}
	return p
}

// Agent returns the declaration of argument i, an agent.
func (a *Args) Agent(i int) *ir.Agent {
	if a.Slot(i).Kind() != value.KindAgent {
		a.WrongKind(i, "an Agent")
	}
	return &a.Program().Agents[a.Party(i).Index()]
}

// Host returns the declaration of argument i, a host.
func (a *Args) Host(i int) *Host {
	if a.Slot(i).Kind() != value.KindHost {
		a.WrongKind(i, "a Host")
	}
	return &a.vm.image.hostDecls[a.Party(i).Index()]
}

// Function returns a function of the program as a value, or nil if n is nil.
func (a *Args) Function(n *int) value.Slot {
	if n == nil {
		return value.Nil
	}
	return a.run().image.closureOf(*n)
}

// Store returns the value of a store's declaration.
func (a *Args) Store(n int) value.Slot { return a.run().declared.stores[n] }

// Tools returns the tools in an Array of Tool, or all declared tools if list is nil.
func (a *Args) Tools(list value.Slot) []*Tool { return a.run().declared.offered(list, a.pace) }

// ToolsOf returns the tools that an agent or a host may call, as an Array.
func (a *Args) ToolsOf(party value.Slot) value.Slot { return a.run().toolsOf(party, a.pace) }

// Task returns argument i as a task.
func (a *Args) Task(i int) Task {
	t := taskOf(a.Slot(i))
	if t == nil {
		a.WrongKind(i, "a Task")
	}
	return Task{t}
}

// Task is a task that the program has as a value.
type Task struct{ t *task }

// Done reports whether the task has ended or was cancelled.
func (t Task) Done() bool { return t.t.state.ended || t.t.state.stop }

// Cancel cancels the task. Its error is then ignored.
func (t Task) Cancel() {
	t.t.state.seen = true
	cancelTask(t.t)
}

// StateOf returns the value of type T that natives store between calls. Each run has one, which is
// initially zero. Outside of a run nothing is stored.
func StateOf[T any](a *Args) *T {
	if a.vm == nil {
		return new(T)
	}
	key := any((*T)(nil))
	x, ok := a.vm.own[key].(*T)
	if !ok {
		x = new(T)
		if a.vm.own == nil {
			a.vm.own = map[any]any{}
		}
		a.vm.own[key] = x
	}
	return x
}
