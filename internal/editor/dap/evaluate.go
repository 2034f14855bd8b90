package dap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/literal"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/vm"
)

// compiled is a console text or a watch expression, compiled for a position in the program.
type compiled struct {
	function int
	captures []driver.Captured
	console  map[string]*consoleVar // captured variables that the console has declared
	result   types.Type
	body     *ast.Closure
}

// place is the key of a compiled text: the position and the text.
type place struct {
	file         string
	line, column int
	text         string
	console      int // value of console.changes when the text was compiled
}

// exprCompiler caches compiled texts.
type exprCompiler struct {
	growth *ir.Growth // the running program with the additions for compiled texts
	broken error      // reason why no more texts can be added; nil if there is none
	texts  map[string]string
	cache  map[place]*compiled
	wrong  map[place]error
}

// compile compiles a text so that it can run in a frame. It caches the result.
func (r *Run) compile(f *frameRef, text string) (*compiled, error) {
	if f.Text == "" {
		return nil, errors.New("this frame is in the library's code: select a frame of the program")
	}
	k := &r.debuggee.code
	at := place{f.File, f.Line, f.Column, text, r.debuggee.console.changes}
	if c := k.cache[at]; c != nil {
		return c, nil
	}
	if err := k.wrong[at]; err != nil {
		return nil, err
	}
	if k.cache == nil {
		k.cache, k.wrong, k.texts = map[place]*compiled{}, map[place]error{}, r.debuggee.sources()
		k.growth = ir.Grow(r.debuggee.vm.Program())
	}
	c, err := k.compile(r, at)
	if err != nil {
		k.wrong[at] = err
		return nil, err
	}
	k.cache[at] = c
	return c, nil
}

// sources returns the texts of the program's files by name. They are the texts with which the run
// started.
func (d *debuggee) sources() map[string]string {
	texts := map[string]string{}
	for _, f := range d.vm.Program().Files {
		if f.Text != "" {
			texts[f.Name] = f.Text
		}
	}
	return texts
}

func (k *exprCompiler) compile(r *Run, at place) (*compiled, error) {
	lets, used := r.debuggee.console.declarations(nameMatcher(at.text))
	w := driver.Within{Request: r.s.program, Root: r.s.root, Texts: k.texts, File: at.file, Line: at.line, Column: at.column, Lets: lets, Text: at.text}
	c, found := w.Compile()
	for _, d := range found.Sorted() {
		if d.Severity() == diag.Error {
			return nil, errors.New(messageOf(d))
		}
	}
	if c == nil {
		return nil, errors.New("the expression cannot be evaluated here")
	}
	if k.broken != nil {
		return nil, k.broken
	}
	n, err := k.growth.Add(c.Program, c.Number)
	if err != nil {
		return nil, err
	}
	if k.broken = r.debuggee.vm.Grow(k.growth.Program); k.broken != nil {
		return nil, k.broken
	}
	return &compiled{function: n, captures: c.Captures, console: used, result: c.Result, body: c.Body}, nil
}

// messageOf returns the message of a diagnostic as `check` prints it.
func messageOf(d *diag.Diagnostic) string {
	return fmt.Sprintf("error[%s]: %s", d.Info.Code, d.Message)
}

// evalOptions describes what an evaluation may do and when it is cancelled.
type evalOptions struct {
	quiet  bool // no external effects and a time limit of quietLimit
	assign bool // assignments to the program's variables are allowed
	// cancelled when the result is no longer needed; nil if nothing waits for it
	ctx context.Context
}

// quietLimit is the maximum duration of a quiet evaluation, such as that of a watch expression or a
// condition.
const quietLimit = time.Second

// stopper returns a function that reports why an evaluation must stop early, or nil. The reasons
// are the end of the context and, for a quiet evaluation, the time limit. The time is measured from
// the first call, which only a long evaluation makes.
func (r *Run) stopper(h evalOptions) func() error {
	now := r.s.adapter.Now
	if now == nil {
		now = time.Now
	}
	var began time.Time
	return func() error {
		if h.ctx != nil && h.ctx.Err() != nil {
			return context.Cause(h.ctx)
		}
		if !h.quiet {
			return nil
		}
		t := now()
		if began.IsZero() {
			began = t
		}
		if t.Sub(began) >= quietLimit {
			return fmt.Errorf("the evaluation did not finish within %v; the console has no time limit", quietLimit)
		}
		return nil
	}
}

// execute runs a compiled text in a frame.
func (r *Run) execute(f *frameRef, c *compiled, h evalOptions) (v value.Slot, err error) {
	captured := make([]value.Slot, len(c.captures))
	var fresh []int // cells that this evaluation has created
	for i, x := range c.captures {
		now, ok := f.Variable(x.Name)
		own := c.console[x.Name]
		if own != nil {
			now, ok = own.value, true
		}
		if !ok {
			return v, fmt.Errorf("`%s` has no value here", x.Name)
		}
		value.Share(now)
		captured[i] = now
		if !x.Cell {
			continue
		}
		if cell, in := f.Cell(x.Name); in && h.assign && own == nil {
			captured[i] = cell
		} else {
			captured[i] = value.NewCell(now)
			fresh = append(fresh, i)
		}
	}
	if r.debuggee.stopped != nil && !h.quiet { // the values that the evaluation waits for must be computed
		r.debuggee.clock.Resume()
		defer r.debuggee.clock.Pause()
	}
	if h.ctx != nil {
		wake := context.AfterFunc(h.ctx, func() { r.debuggee.vm.Do(func() {}) })
		defer wake()
	}
	v, err = r.debuggee.vm.Evaluate(vm.Evaluation{Function: c.function, Captured: captured, Quiet: h.quiet, Stop: r.stopper(h)})
	value.Share(v)
	if !h.quiet {
		defer r.refresh()
	}
	for _, i := range fresh {
		name := c.captures[i].Name
		now, _ := f.Variable(name)
		own := c.console[name]
		if own != nil {
			now = own.value
		}
		then := captured[i].Fields()[0]
		if then == now {
			continue
		}
		if !h.assign {
			return v, fmt.Errorf("the expression would change `%s`: use the console for that", name)
		}
		value.Share(then)
		if own != nil {
			own.value = then
		} else {
			f.Assign(name, then)
		}
	}
	var refused *vm.Refused
	if errors.As(err, &refused) {
		return v, fmt.Errorf("the expression would %s: use the console for that", refused.Would)
	}
	var failed *vm.Uncaught
	if errors.As(err, &failed) {
		return v, fmt.Errorf("%s: %s", failed.Kind, failed.Message)
	}
	if errors.Is(err, context.Canceled) { // the run has ended
		err = errEnding
	}
	return v, err
}

// evaluateCondition reports whether a condition holds at the stop.
func (r *Run) evaluateCondition(x *stopState, text string) (bool, error) {
	f, c, err := r.compileCondition(x, text)
	if err != nil {
		return false, err
	}
	if c.result != types.Bool {
		return false, fmt.Errorf("the condition is a %s, not a Bool", c.result)
	}
	v, err := r.execute(f, c, evalOptions{quiet: true})
	if err != nil {
		return false, err
	}
	return v.AsBool(), nil
}

// compileCondition compiles a condition for the frame in which the run is stopped.
func (r *Run) compileCondition(x *stopState, text string) (*frameRef, *compiled, error) {
	f, ok := x.scene.Top(r.s.showStd)
	if !ok {
		return nil, nil, errors.New("the stop is not in the program's own code")
	}
	ref := &frameRef{at: *x.scene, Frame: f}
	c, err := r.compile(ref, text)
	return ref, c, err
}

// formatLogMessage returns a logMessage with its expressions replaced by their values.
func (r *Run) formatLogMessage(x *stopState, text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		expression, after, closed := cutExpression(rest)
		if !closed {
			b.WriteString("{" + rest)
			return b.String()
		}
		f, c, err := r.compileCondition(x, expression)
		var v value.Slot
		if err == nil {
			v, err = r.execute(f, c, evalOptions{quiet: true})
		}
		switch {
		case err != nil:
			b.WriteString("{" + err.Error() + "}")
		case literal.Flat(v).Kind() == value.KindString:
			b.WriteString(literal.Flat(v).AsString())
		default:
			b.WriteString(literal.Text(v, c.result))
		}
		text = after
	}
}

// cutExpression splits a text at the brace that closes an expression.
func cutExpression(text string) (expression, after string, ok bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return text[:i], text[i+1:], true
		case c == '}':
			depth--
		}
	}
	return "", "", false
}

// evaluate answers with the value of an expression. In the console, the text may also consist of
// statements.
func (s *session) evaluate(r *dap.EvaluateRequest) {
	a := r.Arguments
	h := evalOptions{quiet: a.Context != "repl" && a.Context != "", assign: a.Context == "repl", ctx: s.ctx}
	s.withFrame(r, a.FrameId, func(f *frameRef) {
		if l := parseLet(a.Expression); l != nil && h.assign {
			v, err := s.run.evaluateLet(f, a.Expression, l, h)
			if err != nil {
				s.replyError(r, "%v", err)
				return
			}
			s.sendEvaluated(r, s.run.debuggee.variable(child{name: v.name, path: v.name, value: v.value, typ: v.typ}))
			return
		}
		c, err := s.run.compile(f, a.Expression)
		if err == nil && a.Context == "hover" && !isNameOrField(c.body) {
			err = errors.New("only names and fields are evaluated on hover")
		}
		if err == nil && h.quiet {
			err = changes(c.body)
		}
		var v value.Slot
		if err == nil {
			v, err = s.run.execute(f, c, h)
		}
		if err != nil {
			s.replyError(r, "%v", err)
			return
		}
		s.sendEvaluated(r, s.run.debuggee.variable(child{name: a.Expression, path: a.Expression, value: v, typ: c.result}))
	})
}

func (s *session) sendEvaluated(r dap.RequestMessage, v dap.Variable) {
	x := &dap.EvaluateResponse{Response: newResponse(r)}
	x.Body.Result, x.Body.Type, x.Body.VariablesReference = v.Value, v.Type, v.VariablesReference
	x.Body.NamedVariables, x.Body.IndexedVariables = v.NamedVariables, v.IndexedVariables
	s.send(x)
}

// isNameOrField reports whether a text is a name or a field access that begins with a name.
func isNameOrField(c *ast.Closure) bool {
	b, ok := c.Body.(*ast.BlockExpr)
	if !ok || len(b.Block.Stmts) > 0 {
		return false
	}
	for e := b.Block.Tail; ; {
		switch x := e.(type) {
		case *ast.PathExpr:
			return true
		case *ast.FieldExpr:
			e = x.X
		default:
			return false
		}
	}
}

// changes returns an error that names the variable that a text would change, or nil if it changes
// none.
func changes(c *ast.Closure) (err error) {
	ast.Inspect(c.Body, func(n ast.Node) bool {
		if _, is := n.(*ast.Assign); is {
			err = errors.New("the expression would assign: use the console for that")
		}
		return err == nil
	})
	return err
}

// setVariable assigns a value to a variable or to a part of one.
func (s *session) setVariable(r *dap.SetVariableRequest) {
	ctx := s.ctx
	s.withStopped(r, func(*stopState) {
		n := r.Arguments.VariablesReference
		if n < 1 || n > len(s.run.debuggee.refs.held) {
			s.replyError(r, "unknown variables reference %d: references are valid until the program continues", n)
			return
		}
		h := s.run.debuggee.refs.held[n-1]
		all, _ := h.count()
		for _, c := range h.children(0, all) {
			if c.name != r.Arguments.Name || c.path == "" {
				continue
			}
			v, err := s.run.assign(ctx, s.run.lastFrame(), c.path, r.Arguments.Value)
			if err != nil {
				s.replyError(r, "%v", err)
				return
			}
			x := &dap.SetVariableResponse{Response: newResponse(r)}
			x.Body.Value, x.Body.Type, x.Body.VariablesReference = v.Value, v.Type, v.VariablesReference
			x.Body.NamedVariables, x.Body.IndexedVariables = v.NamedVariables, v.IndexedVariables
			s.send(x)
			return
		}
		s.replyError(r, "`%s` cannot be set", r.Arguments.Name)
	})
}

// setExpression assigns a value to the variable or field that an expression denotes.
func (s *session) setExpression(r *dap.SetExpressionRequest) {
	ctx := s.ctx
	s.withFrame(r, r.Arguments.FrameId, func(f *frameRef) {
		v, err := s.run.assign(ctx, f, r.Arguments.Expression, r.Arguments.Value)
		if err != nil {
			s.replyError(r, "%v", err)
			return
		}
		x := &dap.SetExpressionResponse{Response: newResponse(r)}
		x.Body.Value, x.Body.Type, x.Body.VariablesReference = v.Value, v.Type, v.VariablesReference
		x.Body.NamedVariables, x.Body.IndexedVariables = v.NamedVariables, v.IndexedVariables
		s.send(x)
	})
}
