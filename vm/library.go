package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// What a native may know, besides its arguments, of the run that calls it.
// Outside a run these functions fault.

// run gives the run.
func (a *Args) run() *VM {
	if a.vm == nil {
		panic(value.Faultf("%s: it is called outside a run", a.name))
	}
	return a.vm
}

// Program gives the program that runs. It must not be changed.
func (a *Args) Program() *ir.Program { return a.run().image.program }

// Party gives argument i, an agent or a host.
func (a *Args) Party(i int) value.Party {
	p := a.Slot(i).Party()
	if p == nil {
		a.Wrong(i, "an Agent or a Host")
	}
	return p
}

// Agent gives the declaration of argument i, an agent.
func (a *Args) Agent(i int) *ir.Agent {
	if a.Slot(i).Kind() != value.KindAgent {
		a.Wrong(i, "an Agent")
	}
	return &a.Program().Agents[a.Party(i).Index()]
}

// Host gives the declaration of argument i, a host.
func (a *Args) Host(i int) *Host {
	if a.Slot(i).Kind() != value.KindHost {
		a.Wrong(i, "a Host")
	}
	return &a.vm.image.hostDecls[a.Party(i).Index()]
}

// Function gives a function of the program as a value, nil for none.
func (a *Args) Function(n *int) value.Slot {
	if n == nil {
		return value.Nil
	}
	return a.run().image.closureOf(*n)
}

// Store gives the value of a store's declaration.
func (a *Args) Store(n int) value.Slot { return a.run().declared.stores[n] }

// Tools gives the tools in an Array of Tool, or all that the program declares for
// nil.
func (a *Args) Tools(list value.Slot) []*Tool { return a.run().declared.offered(list, a.pace) }

// ToolsOf gives the tools that an agent or a host may call, as an Array.
func (a *Args) ToolsOf(party value.Slot) value.Slot { return a.run().toolsOf(party, a.pace) }

// Task gives argument i, a task.
func (a *Args) Task(i int) Task {
	t := taskOf(a.Slot(i))
	if t == nil {
		a.Wrong(i, "a Task")
	}
	return Task{t}
}

// A Task is one that the program has as a value.
type Task struct{ t *task }

// Done says whether it has ended or was cancelled.
func (t Task) Done() bool { return t.t.state.ended || t.t.state.stop }

// Cancel ends it; nobody needs to hear of its error then.
func (t Task) Cancel() {
	t.t.state.seen = true
	cancelTask(t.t)
}

// Own gives the T that natives keep from call to call: one for each run, zero
// at first. Outside a run nothing is kept.
func Own[T any](a *Args) *T {
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
