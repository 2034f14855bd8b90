package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var commandNatives = native.Table{
	{"command", command},
}

// command runs a command. The arguments are (command, args, timeout_ms), and the result is
// (exit_code, stdout, stderr).
func command(a *vm.Args) (value.Slot, error) {
	r := &effect.Command{Command: a.String(0), Timeout: a.Int(2)}
	a.Step(a.Array(1).Len)
	for i := range a.Array(1).Len {
		r.Args = append(r.Args, value.Text(a.Array(1).At(i)))
	}
	return a.Ask(r, func(r effect.Result) (value.Slot, error) {
		o := r.(*effect.CommandOutput)
		return value.Tuple(value.Int(o.ExitCode), value.String(o.Stdout), value.String(o.Stderr)), nil
	})
}
