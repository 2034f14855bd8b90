package stdlib

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// std::app: what the application has given the run.
var appNatives = native.Table{
	{"app.inputs", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.Session{}, func(r effect.Result) (value.Slot, error) {
			return givenObject("inputs", r.(*effect.SessionInfo).Inputs)
		})
	}},
	{"app.session", func(a *vm.Args) (value.Slot, error) {
		t := a.Type(0)
		return a.Ask(&effect.Session{}, func(r effect.Result) (value.Slot, error) {
			info := r.(*effect.SessionInfo)
			metadata, err := givenObject("metadata", info.Metadata)
			if err != nil {
				return value.Nil, err
			}
			return native.Record(t,
				native.Field{"id", value.String(info.ID)},
				native.Field{"cwd", value.String(info.Cwd)},
				native.Field{"metadata", metadata},
				native.Field{"render", value.StringArray(info.Render)}), nil
		})
	}},
}

// givenObject reads a JSON object that the application has given; none is an empty one.
func givenObject(what string, text []byte) (value.Slot, error) {
	if len(text) == 0 {
		return value.NewMap(0).Slot(), nil
	}
	v, err := value.Parse(text)
	if err == nil && v.Map() == nil {
		err = fmt.Errorf("it is no object")
	}
	if err != nil {
		return value.Nil, fmt.Errorf("the session's %s: %w", what, err)
	}
	return v, nil
}
