package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var taskNatives = native.Table{
	{"Task.is_done", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Task(0).Done()), nil }},
	{"Task.cancel", func(a *vm.Args) (value.Slot, error) {
		a.Task(0).Cancel()
		return value.Nil, nil
	}},
}
