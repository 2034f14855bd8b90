package stdlib

import (
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/vm"
)

var toolsNatives = []native{
	{"tools.__positive", func(a *vm.Args) (value.Slot, error) {
		if n := a.Int(1); n <= 0 {
			return value.Nil, value.Faultf("%s is %d, it must be positive", a.String(0), n)
		}
		return a.Slot(1), nil
	}},
}
