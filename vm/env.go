package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

func init() {
	performs["env"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) { return &effect.Env{Name: a.String(0)}, nil },
		value: func(r effect.Result) (value.Slot, error) {
			v := r.(*effect.EnvValue)
			if !v.Set {
				return value.Nil, nil
			}
			return value.String(v.Value), nil
		},
	}
	performs["env.all"] = &performing{
		request: func(*task, *Args) (effect.Request, error) { return &effect.EnvAll{}, nil },
		value: func(r effect.Result) (value.Slot, error) {
			vars := r.(*effect.EnvVariables)
			all := value.NewMap(len(vars.Names))
			for i, name := range vars.Names {
				all.SetString(name, value.String(vars.Values[i]))
			}
			return all.Slot(), nil
		},
	}
}
