package dap

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// lastFrame returns the frame whose variables were requested last.
func (r *Run) lastFrame() *frameRef {
	if r.debuggee.refs.inspected != nil {
		return r.debuggee.refs.inspected
	}
	f, _ := r.frame(0)
	return f
}

// assign assigns a value to the variable or the part of a variable that path names. The value must
// have the type of the variable. The debugger can also change variables without `mut`.
func (r *Run) assign(ctx context.Context, f *frameRef, path, text string) (shown dap.Variable, err error) {
	if f == nil {
		return shown, fmt.Errorf("no frame is selected")
	}
	name, rest := path, ""
	if i := strings.IndexAny(path, ".["); i > 0 {
		name, rest = path[:i], path[i:]
	}
	was, err := r.compile(f, name)
	if err != nil {
		return shown, err
	}
	t := was.result
	declared := t.String()
	c, err := r.compile(f, fmt.Sprintf("let mut debugged_place: %s = %s; debugged_place%s = %s; debugged_place", declared, name, rest, text))
	if rest == "" {
		c, err = r.compile(f, fmt.Sprintf("let debugged_place: %s = %s; debugged_place", declared, text))
	}
	if err != nil {
		return shown, err
	}
	v, err := r.execute(f, c, evalOptions{ctx: ctx})
	if err != nil {
		return shown, err
	}
	if !f.Assign(name, v) {
		return shown, fmt.Errorf("`%s` has no value here", name)
	}
	value.Share(v)
	r.refresh()
	return r.pathVariable(ctx, f, path, t, v)
}

// pathVariable returns the current value at a path in the form for the editor.
func (r *Run) pathVariable(ctx context.Context, f *frameRef, path string, t types.Type, v value.Slot) (dap.Variable, error) {
	c, err := r.compile(f, path)
	if err == nil {
		v, err = r.execute(f, c, evalOptions{quiet: true, ctx: ctx})
		t = c.result
	}
	return r.debuggee.variable(child{name: path, path: path, value: v, typ: t}), err
}
