package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var ioNatives = native.Table{
	{"input", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Input{All: a.Bool(0)}, inputText) }},
	{"eprint", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.Log{Level: effect.PrintLevel, Message: a.String(0)}, vm.Nothing)
	}},
}

// inputText returns (text, end).
func inputText(r effect.Result) (value.Slot, error) {
	in := r.(*effect.InputText)
	return value.Tuple(value.String(in.Text), value.Bool(in.End)), nil
}
