package stdlib

import (
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
