package stdlib

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var envNatives = native.Table{
	{"env", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Env{Name: a.String(0)}, envValue) }},
	{"env.all", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.EnvAll{}, envVariables) }},
	{"env.args", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.Args{}, func(r effect.Result) (value.Slot, error) {
			return value.StringArray(r.(*effect.ArgsValue).Args), nil
		})
	}},
	{"env.task", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Args{}, taskValue(true)) }},
	{"env.task_if_any", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Args{}, taskValue(false)) }},
}

// taskValue returns a function that returns the arguments of a run as the task of main, or nil.
func taskValue(required bool) vm.ResultFunc {
	return func(r effect.Result) (value.Slot, error) {
		args := r.(*effect.ArgsValue).Args
		switch {
		case len(args) > 0:
			return value.String(strings.Join(args, " ")), nil
		case required:
			return value.Nil, effect.Errorf("RuntimeError", "`main` requires a task, and the run has no arguments")
		}
		return value.Nil, nil
	}
}

func envValue(r effect.Result) (value.Slot, error) {
	v := r.(*effect.EnvValue)
	if !v.Set {
		return value.Nil, nil
	}
	return value.String(v.Value), nil
}

func envVariables(r effect.Result) (value.Slot, error) {
	vars := r.(*effect.EnvVariables)
	all := value.NewMap(len(vars.Names))
	for i, name := range vars.Names {
		all.SetString(name, value.String(vars.Values[i]))
	}
	return all.Slot(), nil
}
