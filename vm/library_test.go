package vm

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// library returns a function that finds the natives own of a test, and the natives that the
// programs of all tests use.
func library(own map[string]Native) func(string) Native {
	return func(name string) Native {
		if f := own[name]; f != nil {
			return f
		}
		return testNatives[name]
	}
}

var testNatives = map[string]Native{
	"print": func(a *Args) (value.Slot, error) {
		return a.Ask(&effect.Print{Text: a.String(0), Newline: a.Bool(1)}, Nothing)
	},
	"log": func(a *Args) (value.Slot, error) {
		return a.Ask(&effect.Log{Level: a.String(0), Message: a.String(1), Fields: value.AppendJSON(nil, a.Slot(2))}, Nothing)
	},
	"clock": func(a *Args) (value.Slot, error) {
		return a.Ask(&effect.Clock{}, func(r effect.Result) (value.Slot, error) {
			now := r.(*effect.Time)
			return value.Tuple(value.Int(now.Unix), value.Int(now.Monotonic)), nil
		})
	},
	"sleep":      func(a *Args) (value.Slot, error) { return a.Ask(&effect.Sleep{Milliseconds: a.Int(0)}, Nothing) },
	"known":      func(a *Args) (value.Slot, error) { return value.Int(7), nil },
	"race.bound": func(a *Args) (value.Slot, error) { return NewBound(a.Int(0)), nil },
	"task.done":  func(a *Args) (value.Slot, error) { return value.Bool(a.Task(0).Done()), nil },
	"task.cancel": func(a *Args) (value.Slot, error) {
		a.Task(0).Cancel()
		return value.Nil, nil
	},
	// the arguments are (host, context, schema)
	"host.with": func(a *Args) (value.Slot, error) {
		s := a.Slot(0)
		c := value.New(s.Kind(), 0, s.Type(), a.Party(0)...)
		p := c.Party()
		p[value.PartyContext], p[value.PartySchema] = a.Slot(1), a.Slot(2)
		return c, nil
	},
}
