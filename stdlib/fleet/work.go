// Package fleet contains the natives of std::work and std::merge.
package fleet

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Work contains the natives that request effects on workspaces.
var Work = native.Table{
	{"work.open", func(a *vm.Args) (value.Slot, error) { // (name, base, existing, type of the workspace)
		t := a.Type(3)
		return a.Ask(&effect.WorkOpen{Name: a.String(0), Base: a.String(1), Existing: a.Bool(2)}, func(r effect.Result) (value.Slot, error) {
			return workspaceOf(t, r.(*effect.WorkspaceInfo)), nil
		})
	}},
	{"work.list", func(a *vm.Args) (value.Slot, error) { // (type of a workspace)
		t := a.Type(0)
		return a.Ask(&effect.WorkList{}, func(r effect.Result) (value.Slot, error) {
			all := value.NewArray()
			for i := range r.(*effect.WorkspaceList).All {
				all.Push(workspaceOf(t, &r.(*effect.WorkspaceList).All[i]))
			}
			return all.Slot(), nil
		})
	}},
	{"work.diff", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.WorkDiff{Name: a.String(0)}, func(r effect.Result) (value.Slot, error) {
			return value.String(string(r.(*effect.WorkspaceDiff).Diff)), nil
		})
	}},
	{"work.commit", func(a *vm.Args) (value.Slot, error) { // (name, message, time in ms)
		return a.Ask(&effect.WorkCommit{Name: a.String(0), Message: a.String(1), Time: a.Int(2)}, func(r effect.Result) (value.Slot, error) {
			return value.String(r.(*effect.WorkCommitted).Commit), nil
		})
	}},
	{"work.run", func(a *vm.Args) (value.Slot, error) { // (name, command, timeout in ms)
		return a.Ask(&effect.WorkRun{Name: a.String(0), Command: vm.Texts(a, 1), Timeout: a.Int(2)}, func(r effect.Result) (value.Slot, error) {
			o := r.(*effect.WorkOutput)
			return value.Tuple(value.Int(o.ExitCode), value.String(o.Output)), nil
		})
	}},
	{"work.remove", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.WorkRemove{Name: a.String(0), Force: a.Bool(1)}, vm.Nothing)
	}},
}

func workspaceOf(t *value.Type, w *effect.WorkspaceInfo) value.Slot {
	return native.Record(t, native.Field{"name", value.String(w.Name)}, native.Field{"dir", value.String(w.Dir)}, native.Field{"branch", value.String(w.Branch)},
		native.Field{"base", value.String(w.Base)}, native.Field{"repo", value.String(w.Repo)})
}
