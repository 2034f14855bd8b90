package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

func init() {
	performs["env.args"] = &performing{
		request: func(*task, *Args) (effect.Request, error) { return &effect.Args{}, nil },
		value:   func(r effect.Result) (value.Slot, error) { return value.StringArray(r.(*effect.ArgsValue).Args), nil },
	}
}
