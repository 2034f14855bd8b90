package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// command(command, args, timeout_ms) gives (exit_code, stdout, stderr).
func init() {
	performs["command"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			r := &effect.Command{Command: a.String(0), Timeout: a.Int(2)}
			for i := range a.Array(1).Len {
				r.Args = append(r.Args, value.Text(a.Array(1).At(i)))
			}
			return r, nil
		},
		value: func(r effect.Result) (value.Slot, error) {
			o := r.(*effect.CommandOutput)
			return value.Tuple(value.Int(o.ExitCode), value.String(o.Stdout), value.String(o.Stderr)), nil
		},
	}
}
