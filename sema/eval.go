package sema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Eval is a function with the decorator `@eval` (spec/49-eval.md). Exactly one of Data and Rows is
// set, unless there is an error.
type Eval struct {
	Name    string
	Fn      *Function
	Data    string     // path of the dataset as written
	DataArg *ast.Arg   // argument `data`; nil if it is missing
	Rows    *Function  // function that returns the rows
	Row     types.Type // type of the rows
	Repeat  int
	Cluster string
	Margin  *float64 // nil if it is not set
	// Fields reports that each metric is a field of the returned struct. Otherwise the returned
	// value is the metric `score`.
	Fields  bool
	Metrics []EvalMetric
	// GateBuiltins contains the names of built-in metrics in the argument `gate`.
	GateBuiltins []string
}

// EvalMetric is a metric of an eval. Type is "bool", "int", "float", "score" or "agreement".
type EvalMetric struct {
	Name, Type  string
	Lower, Gate bool
}

// MaxRepeat is the maximum number of repetitions of a case.
const MaxRepeat = 1000

// evalParam is an argument of `@eval`.
type evalParam struct {
	name    string
	typ     types.Type
	example string
}

var evalParams = []evalParam{
	{"data", types.String, `data: "rows.jsonl"`},
	{"repeat", types.Int, "repeat: 5"},
	{"cluster", types.String, `cluster: "customer"`},
	{"lower", &types.Array{Elem: types.String}, `lower: ["words"]`},
	{"gate", &types.Array{Elem: types.String}, `gate: ["correct"]`},
	{"margin", types.Float, "margin: 0.05"},
	{"name", types.String, `name: "triage"`},
}

// BuiltinMetrics are the names of metrics that every eval has.
var BuiltinMetrics = []string{"failed", "cost_usd", "latency_ms", "tokens"}

// IsEval reports whether the function has the decorator `@eval`.
func (fn *Function) IsEval() bool { return isEval(fn) }

func isEval(fn *Function) bool { return findDecorator(fn.Decl.Decorators, "eval") != nil }

// evalDecorator checks where the decorator `@eval` is.
func (c *checker) evalDecorator(m *module, fn *Function, d *ast.Decorator) {
	message, hint := "", ""
	switch {
	case fn.assoc != nil || fn.Tool != nil || fn.Recv != nil || m.around != nil:
		message, hint = "`@eval` is only allowed on functions of a module", "move the eval to module level"
	case m == c.entry && fn.Name == "main":
		message, hint = "`main` cannot be an eval", "remove `@eval`, or rename the function"
	case findDecorator(fn.Decl.Decorators, "eval") != d:
		message, hint = "duplicate decorator `@eval`", "remove one of them"
	case isTest(fn):
		message, hint = "a function cannot be a test and an eval", "remove `@eval` or `@test`"
	default:
		return
	}
	c.refuseEval(m, diag.DecoratorPlace, d.Sp, hint, "%s", message)
}

// refuseEval reports an error in the declaration of an eval.
func (c *checker) refuseEval(m *module, info *diag.Info, at source.Span, hint, format string, args ...any) {
	c.report(m, info.At(at, format, args...).Hint("%s", hint))
}

// collectEval adds a function with the decorator @eval to the evals. It returns false if fn is no
// eval.
func (c *checker) collectEval(m *module, fn *Function) bool {
	d := findDecorator(fn.Decl.Decorators, "eval")
	switch {
	case d == nil || fn.assoc != nil || fn.Tool != nil || m.around != nil || isTest(fn) || m == c.entry && fn.Name == "main":
		return false
	case m.info.pkg != nil:
		return true // the evals of packages are not run, and not checked
	}
	c.prog.Evals = append(c.prog.Evals, &Eval{Name: fn.Name, Fn: fn, Repeat: 1})
	return true
}

// checkEvals checks the decorators, the parameters and the results of the evals.
func (c *checker) checkEvals() {
	names, functions := map[string]*Eval{}, map[string]bool{}
	for _, e := range c.prog.Evals {
		m, fn := e.Fn.mod, e.Fn
		if len(fn.Params) == 1 {
			e.Row = fn.Params[0].Type
			c.constBody(m).checkDecodable(e.Row, fn.Params[0].At)
		} else {
			c.refuseEval(m, diag.EvalSignature, fn.Decl.Signature, "declare one parameter, such as `row: Ticket`",
				"an eval has one parameter, the row of its dataset, but `%s` has %s", fn.Name, count(len(fn.Params), "parameter"))
		}
		c.evalMetrics(e)
		c.evalArguments(e)
		d := findDecorator(fn.Decl.Decorators, "eval")
		if first := names[e.Name]; first != nil {
			at := findDecorator(first.Fn.Decl.Decorators, "eval")
			dg := diag.EvalArgument.At(d.Sp, "two evals have the name `%s`", e.Name).Hint("set another one: `name: \"…\"`")
			if first.Fn.Info == fn.Info {
				dg.Label(at.Sp, "the first eval")
			}
			c.report(m, dg)
			continue
		}
		if functions[fn.Name] {
			c.report(m, diag.EvalArgument.At(d.Sp, "two evals have functions with the name `%s`, which names their results", fn.Name).Hint("rename one of the functions"))
		}
		names[e.Name], functions[fn.Name] = e, true
	}
}

// evalMetrics sets the metrics of an eval, which its result type determines.
func (c *checker) evalMetrics(e *Eval) {
	fn := e.Fn
	t := types.Resolve(fn.Result)
	if r, ok := t.(*types.Result); ok {
		t = types.Resolve(r.Ok)
	}
	if t == types.Bad {
		return
	}
	if kind := metricOf(t); kind != "" {
		e.Metrics = []EvalMetric{{Name: "score", Type: kind}}
		return
	}
	at := fn.Decl.Signature
	if fn.Decl.Result != nil {
		at = fn.Decl.Result.Span()
	}
	const allowed = "Bool, Int, Float, `eval::Score` or `eval::Agreement`"
	n, ok := t.(*types.Named)
	if !ok || n.Decl.Kind != types.Struct && n.Decl.Kind != types.Schema || n.Decl.Library || len(n.Decl.Fields) == 0 {
		c.refuseEval(fn.mod, diag.EvalResult, at, "return a "+allowed+", or a struct of these", "an eval cannot return `%s`", types.Full(t))
		return
	}
	e.Fields = true
	bindings := types.Bindings(n.Decl.Params, n.Args)
	for _, f := range n.Decl.Fields {
		ft := types.Resolve(types.Substitute(f.Type, bindings))
		kind := fieldMetric(ft)
		switch {
		case kind == "" && ft != types.Bad:
			c.refuseEval(fn.mod, diag.EvalResult, at, "a metric is a "+allowed+", or an Option of one",
				"the field `%s` of `%s` has the type `%s`, which is no metric", f.Name, n.Decl.Name, types.Full(ft))
		case slices.Contains(BuiltinMetrics, f.Name):
			c.refuseEval(fn.mod, diag.EvalResult, at, "rename the field", "the metric `%s` is built in", f.Name)
		}
		e.Metrics = append(e.Metrics, EvalMetric{Name: f.Name, Type: kind})
	}
}

// fieldMetric returns the type of the metric of a field of type t, or "".
func fieldMetric(t types.Type) string {
	if o, ok := types.Resolve(t).(*types.Option); ok {
		t = o.Elem
	}
	return metricOf(t)
}

// metricOf returns the type of a metric with values of type t, or "".
func metricOf(t types.Type) string {
	switch x := types.Resolve(t).(type) {
	case *types.Basic:
		switch x {
		case types.Bool:
			return "bool"
		case types.Int:
			return "int"
		case types.Float:
			return "float"
		}
	case *types.Named:
		if x.Decl.Library && originOf(x.Decl).mod.std == "eval" {
			switch x.Decl.Name {
			case "Score":
				return "score"
			case "Agreement":
				return "agreement"
			}
		}
	}
	return ""
}

// evalArguments reads the arguments of `@eval`.
func (c *checker) evalArguments(e *Eval) {
	m, fn := e.Fn.mod, e.Fn
	d := findDecorator(fn.Decl.Decorators, "eval")
	read := map[string]*ast.Arg{}
	ok := true
	for _, a := range d.Args {
		name := ""
		if a.Name != nil {
			name = a.Name.Name
		}
		known := slices.ContainsFunc(evalParams, func(p evalParam) bool { return p.name == name })
		switch {
		case a.Name == nil:
			c.refuseEval(m, diag.EvalArgument, a.Sp, "write `@eval(data: \"rows.jsonl\")`", "the arguments of `@eval` have names")
		case !known:
			c.unknownEvalArgument(m, a)
		case read[name] != nil:
			c.report(m, diag.EvalArgument.At(a.Sp, "argument `%s` is passed twice", name).Label(read[name].Sp, "first here").Hint("remove one"))
		default:
			read[name] = a
			c.evalArgument(e, name, a)
			continue
		}
		ok = false
	}
	if e.DataArg == nil && ok {
		c.refuseEval(m, diag.EvalArgument, d.Sp, "write `@eval(data: \"rows.jsonl\")`, or `data: rows` for a function that returns an Array of the rows",
			"missing argument `data` in `@eval`")
	}
	if read["gate"] == nil {
		for i := range e.Metrics {
			e.Metrics[i].Gate = true
		}
	}
}

// unknownEvalArgument reports an argument that `@eval` does not have.
func (c *checker) unknownEvalArgument(m *module, a *ast.Arg) {
	var names []string
	for _, p := range evalParams {
		names = append(names, p.name)
	}
	dg := diag.EvalArgument.At(a.Name.Sp, "unknown argument `%s` in `@eval`", a.Name.Name)
	if !suggestAs(dg, a.Name.Sp, a.Name.Name, names, "%s", "did you mean `%s`?") {
		dg.Hint("the arguments are %s", quotedNames(names))
	}
	c.report(m, dg)
}

// evalArgument reads one argument of `@eval`.
func (c *checker) evalArgument(e *Eval, name string, a *ast.Arg) {
	m := e.Fn.mod
	at := a.Value.Span()
	refuse := func(hint, format string, args ...any) {
		c.refuseEval(m, diag.EvalArgument, at, hint, format, args...)
	}
	example := ""
	for _, p := range evalParams {
		if p.name == name {
			example = "write for example `" + p.example + "`"
		}
	}
	if name == "data" {
		e.DataArg = a
		if path, ok := a.Value.(*ast.PathExpr); ok && c.evalRows(e, path) {
			return
		}
	}
	b := c.constBody(m)
	b.expr(a.Value, nil)
	v := c.evaluate(m, a.Value, nil)
	if v == nil {
		return // the error was reported
	}
	switch name {
	case "data":
		path, ok := v.(string)
		switch ext := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:]); {
		case !ok || path == "":
			refuse(example, "`data` must be the path of a file, or the name of a function")
		case ext != "jsonl" && ext != "csv":
			refuse("name a file that ends in .jsonl or .csv", "the format of %q is unknown", path)
		default:
			e.Data = path
		}
	case "repeat":
		n, ok := v.(int64)
		if !ok || n < 1 || n > MaxRepeat {
			refuse(example, "`repeat` must be a number from 1 to %d", MaxRepeat)
			return
		}
		e.Repeat = int(n)
	case "margin":
		x, ok := number(v)
		if !ok || !(x >= 0) || x > 1e300 {
			refuse(example, "`margin` must be a number that is not negative")
			return
		}
		e.Margin = &x
	case "name":
		text, ok := v.(string)
		if !ok || strings.TrimSpace(text) == "" {
			refuse(example, "`name` must be a text that is not empty")
			return
		}
		e.Name = text
	case "cluster":
		text, ok := v.(string)
		if !ok {
			refuse(example, "`cluster` must be the name of a field of the row")
			return
		}
		e.Cluster = text
		c.evalCluster(e, text, a)
	case "lower", "gate":
		c.evalNames(e, name, v, a, example)
	}
}

// evalRows reads the name of a function that returns the rows. It returns false if the path names
// no function.
func (c *checker) evalRows(e *Eval, path *ast.PathExpr) bool {
	m := e.Fn.mod
	c.constBody(m).expr(path, nil)
	fn, ok := m.info.objects[path.Id].(*Function)
	if !ok {
		return false
	}
	e.Rows = fn
	t := types.Resolve(fn.CallType())
	if r, ok := t.(*types.Result); ok {
		t = types.Resolve(r.Ok)
	}
	rows, isArray := t.(*types.Array)
	switch {
	case len(fn.Params) > 0 || !isArray || len(fn.Generics) > 0 || fn.Info.Library:
		c.refuseEval(m, diag.EvalArgument, path.Sp, "use a function without parameters that returns an Array of the rows", "`%s` cannot return the rows of an eval", fn.Name)
	case e.Row != nil && t != types.Bad && !types.Identical(types.Resolve(rows.Elem), types.Resolve(e.Row)):
		c.refuseEval(m, diag.EvalArgument, path.Sp, "use the same type", "`%s` returns rows of type `%s`, but the parameter of `%s` has the type `%s`", fn.Name, types.Full(rows.Elem), e.Fn.Name, types.Full(e.Row))
	}
	return true
}

// evalCluster checks that a field of the row can group cases.
func (c *checker) evalCluster(e *Eval, name string, a *ast.Arg) {
	if e.Row == nil || types.Resolve(e.Row) == types.Bad {
		return
	}
	var names []string
	var field types.Type
	if n, ok := types.Resolve(e.Row).(*types.Named); ok && n.Decl.Kind != types.Enum {
		bindings := types.Bindings(n.Decl.Params, n.Args)
		for _, f := range n.Decl.Fields {
			names = append(names, f.Name)
			if f.Name == name {
				field = types.Resolve(types.Substitute(f.Type, bindings))
			}
		}
	}
	switch {
	case field == nil:
		c.unknownEvalName(e, a.Value, name, names, fmt.Sprintf("the row type `%s` has no field `%s`", types.Full(e.Row), name), "fields")
	case !groupsCases(field):
		c.refuseEval(e.Fn.mod, diag.EvalArgument, a.Value.Span(), "use a field that is a String, an Int, a Float, a Bool or one of several names",
			"the field `%s` has the type `%s`, whose values cannot group cases", name, types.Full(field))
	}
}

// groupsCases reports whether the JSON of all values of a type is a text, a number, a Bool or null.
func groupsCases(t types.Type) bool {
	switch x := t.(type) {
	case *types.Option:
		return groupsCases(types.Resolve(x.Elem))
	case *types.Union:
		return true
	case *types.Named:
		return x.Decl.Kind == types.Enum && !slices.ContainsFunc(x.Decl.Variants, func(v *types.Variant) bool { return len(v.Fields) > 0 })
	}
	return t == types.String || t == types.Int || t == types.Float || t == types.Bool || t == types.Bad
}

// evalNames reads the names of metrics.
func (c *checker) evalNames(e *Eval, argument string, v any, a *ast.Arg, example string) {
	var known []string
	for _, x := range e.Metrics {
		known = append(known, x.Name)
	}
	if argument == "gate" {
		known = append(known, BuiltinMetrics[1:]...)
	}
	list, ok := v.([]any)
	if text, isText := v.(string); isText {
		list, ok = []any{text}, true
	}
	for _, x := range list {
		name, isText := x.(string)
		switch {
		case !isText:
			ok = false
		case !slices.Contains(known, name):
			if len(e.Metrics) > 0 {
				c.unknownEvalName(e, a.Value, name, known, fmt.Sprintf("`%s` has no metric `%s`", e.Fn.Name, name), "metrics")
			}
		default:
			for i := range e.Metrics {
				if e.Metrics[i].Name == name {
					e.Metrics[i].Lower = e.Metrics[i].Lower || argument == "lower"
					e.Metrics[i].Gate = e.Metrics[i].Gate || argument == "gate"
				}
			}
			if slices.Contains(BuiltinMetrics, name) {
				e.GateBuiltins = append(e.GateBuiltins, name)
			}
		}
	}
	if !ok {
		c.refuseEval(e.Fn.mod, diag.EvalArgument, a.Value.Span(), example, "`%s` must be an Array of the names of metrics", argument)
	}
}

// unknownEvalName reports a name in an argument. Its fix replaces the text in the argument's value.
func (c *checker) unknownEvalName(e *Eval, x ast.Expr, name string, names []string, message, what string) {
	at := x.Span()
	if list, ok := x.(*ast.ArrayLit); ok {
		for _, elem := range list.Elems {
			if text, ok := elem.(*ast.StringLit); ok && text.Value == name {
				at = text.Sp
			}
		}
	}
	dg := diag.EvalArgument.At(at, "%s", message)
	if !suggestAs(dg, at, name, names, "%q", "did you mean %q?") {
		if len(names) == 0 {
			dg.Hint("it has no %s", what)
		} else {
			dg.Hint("its %s are %s", what, quotedNames(names))
		}
	}
	c.report(e.Fn.mod, dg)
}

// guardDecorator checks where the decorator `@guard` is.
func (c *checker) guardDecorator(m *module, fn *Function, d *ast.Decorator) {
	message, hint := "", ""
	switch {
	case fn.assoc != nil || fn.Tool != nil || fn.Recv != nil || m.around != nil:
		message, hint = "`@guard` is only allowed on functions of a module", "move the function to module level"
	case m == c.entry && fn.Name == "main":
		message, hint = "`main` cannot decide about calls", "remove `@guard`, or rename the function"
	case findDecorator(fn.Decl.Decorators, "guard") != d:
		message, hint = "duplicate decorator `@guard`", "remove one of them"
	case isTest(fn) || isEval(fn):
		message, hint = "a test or an eval cannot decide about calls", "remove `@guard`, or the other decorator"
	default:
		c.rejectArguments(m, d)
		return
	}
	c.report(m, diag.DecoratorPlace.At(d.Sp, "%s", message).Hint("%s", hint))
}

// collectGuard sets the function that decides about calls of agents, if fn has the decorator
// `@guard`.
func (c *checker) collectGuard(m *module, fn *Function) {
	d := findDecorator(fn.Decl.Decorators, "guard")
	if d == nil || fn.assoc != nil || fn.Tool != nil || m.around != nil || m.info.pkg != nil || isTest(fn) || m == c.entry && fn.Name == "main" {
		return
	}
	if first := c.prog.Guard; first != nil {
		dg := diag.GuardTwice.At(d.Sp, "two functions have the decorator `@guard`, `%s` and `%s`", first.Name, fn.Name).
			Hint("remove one, and call the function from the other one")
		if first.Info == fn.Info {
			dg.Label(findDecorator(first.Decl.Decorators, "guard").Sp, "the first one")
		}
		c.report(m, dg)
		return
	}
	c.prog.Guard = fn
	const form = "write `fn %s(a: HostApproval) -> decide::Decision`"
	refuse := func(at source.Span, format string, args ...any) {
		c.report(m, diag.GuardSignature.At(at, format, args...).Hint(form, fn.Name))
	}
	switch at := fn.Decl.Signature; {
	case fn.Async || len(fn.Generics) > 0:
		refuse(at, "a `@guard` function cannot be async or generic")
	case len(fn.Params) != 1:
		refuse(at, "a `@guard` function has one parameter, the call, but `%s` has %s", fn.Name, count(len(fn.Params), "parameter"))
	case !isLibraryType(fn.Params[0].Type, "", "HostApproval"):
		refuse(fn.Params[0].At, "the parameter of a `@guard` function is a `HostApproval`, not a `%s`", types.Full(fn.Params[0].Type))
	}
	if !isLibraryType(fn.Result, "decide", "Decision") {
		at := fn.Decl.Signature
		if fn.Decl.Result != nil {
			at = fn.Decl.Result.Span()
		}
		refuse(at, "a `@guard` function returns a `decide::Decision`, not a `%s`", types.Full(fn.Result))
	}
}

// isLibraryType reports whether t is the type of a module of the library; "" is the prelude. It
// returns true for the type of an error.
func isLibraryType(t types.Type, module, name string) bool {
	t = types.Resolve(t)
	n, ok := t.(*types.Named)
	return t == types.Bad || ok && n.Decl.Library && n.Decl.Name == name && originOf(n.Decl).mod.std == module
}
