package sema

import (
	"math"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// The states of evaluating a constant.
const (
	constNew uint8 = iota
	constBusy
	constDone
	constFailed // an error has been reported, so uses of the constant report no further errors
)

// constantByName evaluates a constant that is used before its declaration has been checked.
func (c *checker) constantByName(m *module, k *Const) {
	if k.state != constNew {
		if k.state == constBusy {
			k.Type = types.Bad
			c.report(m, diag.ConstCycle.At(k.Expr.Span(), "constant `%s` depends on itself", k.Name).Hint("use a value that does not depend on `%s`", k.Name))
		}
		return
	}
	c.constant(k.mod, k, k.decl)
}

// constant checks the type of a constant and evaluates it.
func (c *checker) constant(m *module, k *Const, d *ast.ConstDecl) {
	if k.state != constNew {
		return
	}
	k.state = constBusy
	b := c.constBody(m)
	if d.Type != nil {
		want := c.resolve(b.ts, d.Type)
		k.Type = want
		b.checkAs(d.Value, want, reason{m, d.Type.Span(), "the constant's type"})
	} else {
		k.Type = types.Bad
		k.Type = b.expr(d.Value, nil)
	}
	b.finish()
	errors := c.diags.Errors()
	if !b.hasErrors() { // errors in the expression have been reported
		k.Value = c.evaluate(m, d.Value, k.Type)
	}
	k.state = constDone
	if k.Value == nil && (k.Type == types.Bad || c.diags.Errors() > errors || b.hasErrors() || k.Type != types.Nil) {
		k.state = constFailed
	}
}

// constBody returns a body for checking expressions outside functions.
func (c *checker) constBody(m *module) *body {
	return c.newBody(m, &typeScope{m: m}, &frame{raises: true, result: types.Nil})
}

// evaluate returns the value of a constant expression, converted to type t.
func (c *checker) evaluate(m *module, e ast.Expr, t types.Type) any {
	v, ok := c.fold(m, e)
	if !ok {
		return nil
	}
	if n, isInt := v.(int64); isInt && t != nil && types.Resolve(t) == types.Float {
		return float64(n)
	}
	return v
}

// fold evaluates a constant expression, which consists of literals, operators, constants and names
// of declarations (spec/04-expressions.md). It returns false if the expression is not constant.
func (c *checker) fold(m *module, e ast.Expr) (any, bool) {
	switch e := e.(type) {
	case *ast.IntLit:
		return int64(e.Value), !e.Overflow
	case *ast.FloatLit:
		return e.Value, true
	case *ast.BoolLit:
		return e.Value, true
	case *ast.StringLit:
		return e.Value, true
	case *ast.NilLit:
		return nil, true
	case *ast.ParenExpr:
		return c.fold(m, e.X)
	case *ast.PathExpr:
		return c.foldPath(m, e)
	case *ast.Unary:
		return c.foldUnary(m, e)
	case *ast.Binary:
		return c.foldBinary(m, e)
	case *ast.ArrayLit:
		return c.foldList(m, e.Elems)
	case *ast.TupleLit:
		return c.foldList(m, e.Elems)
	case *ast.MapLit:
		return c.foldMap(m, e)
	default: // the others are computed when the program runs
	}
	c.reportNotConstant(m, e.Span())
	return nil, false
}

func (c *checker) reportNotConstant(m *module, at source.Span) {
	c.report(m, diag.NotConstant.At(at, "not a constant expression").
		Hint("use only literals, operators, constants and names of declarations"))
}

func (c *checker) foldPath(m *module, e *ast.PathExpr) (any, bool) {
	switch o := m.info.objects[e.Id].(type) {
	case *Const:
		c.constantByName(m, o)
		return o.Value, o.state == constDone
	case *Agent, *Host, *Tool, *Store:
		return o, true
	case *VariantRef:
		if o.Name == "None" && o.Variant == nil {
			return nil, true
		}
		return o, true
	}
	if m.info.types[e.Id] == types.Bad || m.info.types[e.Id] == nil {
		return nil, false
	}
	if fn, ok := m.info.objects[e.Id].(*Function); ok {
		d := diag.NotConstant.At(e.Sp, "`%s` is a function, not a constant", fn.Name)
		if c.folding == "tools" {
			d = diag.ConfigValue.At(e.Sp, "`%s` is a function, not a tool", fn.Name)
			d.FollowsFrom = "tool function " + fn.Name
			d.WithFixes(c.toolOfFunction(fn, e)...)
		}
		c.report(m, d.Hint("put the function into a tool: `tool %s { description: \"…\", @describe(\"…\") fn %s(self, …) { … } }`", toolName(fn.Name), fn.Name))
		return nil, false
	}
	c.reportNotConstant(m, e.Sp)
	return nil, false
}

// toolName returns the name of a tool that contains only the function fn.
func toolName(fn string) string {
	name := ""
	for part := range strings.SplitSeq(fn, "_") {
		if part != "" {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return name
}

// toolOfFunction returns the fix that adds a tool with the function fn, and replaces the function's
// name with the tool's name.
func (c *checker) toolOfFunction(fn *Function, e *ast.PathExpr) []diag.Fix {
	f, d := fn.Info.File.Source, fn.Decl
	name := toolName(fn.Name)
	if fn.Info.Library || fn.mod != c.entry || c.findDeclared(fn.mod, name) != nil || d.Sp.End <= d.Signature.End || len(d.Generics) > 0 {
		return nil
	}
	var args []string
	text := "\n\ntool " + name + " {\n    description: \"" + strings.ReplaceAll(fn.Name, "_", " ") + "\",\n\n    @describe(\"" + strings.ReplaceAll(fn.Name, "_", " ") + "\")\n"
	params := "self"
	for _, p := range d.Params {
		text += "    @param(\"" + p.Name.Name + "\", \"" + strings.ReplaceAll(p.Name.Name, "_", " ") + "\")\n"
		params += ", " + f.Slice(p.Sp)
		args = append(args, p.Name.Name)
	}
	result := ""
	if d.Result != nil {
		result = " -> " + f.Slice(d.Result.Span())
	}
	text += "    fn " + fn.Name + "(" + params + ")" + result + " {\n        " + fn.Name + "(" + strings.Join(args, ", ") + ")\n    }\n}"
	return []diag.Fix{{Title: "Add a tool with the function", Edits: []diag.Edit{diag.Insert(d.Sp.End, text), diag.Replace(e.Sp, name)}}}
}

func (c *checker) foldUnary(m *module, e *ast.Unary) (any, bool) {
	v, ok := c.fold(m, e.X)
	if !ok {
		return nil, false
	}
	switch v := v.(type) {
	case bool:
		return !v, true
	case int64:
		if v == math.MinInt64 {
			return v, true // the literal 1<<63 becomes the least Int, whose negation is itself
		}
		return -v, true
	case float64:
		return -v, true
	}
	return nil, false
}

func (c *checker) foldList(m *module, elems []ast.Expr) (any, bool) {
	out := make([]any, 0, len(elems))
	for _, x := range elems {
		v, ok := c.fold(m, x)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

func (c *checker) foldMap(m *module, e *ast.MapLit) (any, bool) {
	c.reportDuplicateKeys(m, e)
	out := &ConstMap{}
	for _, en := range e.Entries {
		k, ok := c.fold(m, en.Key)
		v, also := c.fold(m, en.Value)
		name, isString := k.(string)
		if !ok || !also || !isString {
			if ok && !isString {
				c.reportNotConstant(m, en.Key.Span())
			}
			return nil, false
		}
		out.Keys = append(out.Keys, name)
		out.Values = append(out.Values, v)
	}
	return out, true
}

func (c *checker) foldBinary(m *module, e *ast.Binary) (any, bool) {
	x, ok := c.fold(m, e.X)
	y, also := c.fold(m, e.Y)
	if !ok || !also {
		return nil, false
	}
	if a, isInt := x.(int64); isInt {
		if b, both := y.(int64); both {
			return c.foldInt(m, e, a, b)
		}
	}
	if a, isFloat := number(x); isFloat {
		if b, both := number(y); both {
			return foldFloat(e.Op, a, b)
		}
	}
	if a, isString := x.(string); isString {
		if b, both := y.(string); both {
			return foldString(e.Op, a, b)
		}
	}
	if a, isBool := x.(bool); isBool {
		if b, both := y.(bool); both {
			return foldBool(e.Op, a, b)
		}
	}
	c.reportNotConstant(m, e.Sp)
	return nil, false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func (c *checker) foldInt(m *module, e *ast.Binary, a, b int64) (any, bool) {
	if e.Op.Kind() != ast.Arithmetic {
		return foldOrder(e.Op, a, b)
	}
	n, ok := foldsOf(e.Op).ints(a, b)
	switch {
	case ok:
		return n, true
	case b == 0 && (e.Op == ast.OpDiv || e.Op == ast.OpRem):
		c.report(m, diag.ConstZero.At(e.Y.Span(), "division by zero").Hint("use another divisor"))
	default:
		c.report(m, diag.IntRange.At(e.Sp, "this constant does not fit into a 64-bit Int").Hint("use a Float for larger numbers"))
	}
	return nil, false
}

// arithmeticFolds contains the functions that compute each arithmetic operator at compile time.
var arithmeticFolds = map[ast.Op]arithmeticFold{
	ast.OpAdd: {intmath.Add, func(x, y float64) float64 { return x + y }},
	ast.OpSub: {intmath.Sub, func(x, y float64) float64 { return x - y }},
	ast.OpMul: {intmath.Mul, func(x, y float64) float64 { return x * y }},
	ast.OpDiv: {intmath.Div, func(x, y float64) float64 { return x / y }},
	ast.OpRem: {intmath.Rem, math.Mod},
}

type arithmeticFold struct {
	ints   func(x, y int64) (n int64, ok bool)
	floats func(x, y float64) float64
}

// foldsOf returns the row of an operator. A missing row must not become a constant that is nil.
func foldsOf(op ast.Op) arithmeticFold {
	row, ok := arithmeticFolds[op]
	if !ok {
		panic("the operator `" + op.String() + "` has no row in arithmeticFolds of package sema")
	}
	return row
}

func foldFloat(op ast.Op, a, b float64) (any, bool) {
	if op.Kind() != ast.Arithmetic {
		return foldOrder(op, a, b)
	}
	return foldsOf(op).floats(a, b), true
}

func foldString(op ast.Op, a, b string) (any, bool) {
	if op == ast.OpAdd {
		return a + b, true
	}
	return foldOrder(op, a, b)
}

func foldBool(op ast.Op, a, b bool) (any, bool) {
	switch op {
	case ast.OpAnd:
		return a && b, true
	case ast.OpOr:
		return a || b, true
	case ast.OpEq:
		return a == b, true
	case ast.OpNe:
		return a != b, true
	}
	return nil, false
}

func foldOrder[T int64 | float64 | string](op ast.Op, a, b T) (any, bool) {
	switch op {
	case ast.OpLt:
		return a < b, true
	case ast.OpLe:
		return a <= b, true
	case ast.OpGt:
		return a > b, true
	case ast.OpGe:
		return a >= b, true
	case ast.OpEq:
		return a == b, true
	case ast.OpNe:
		return a != b, true
	}
	return nil, false
}

// fieldDefault returns the default of a field of a struct, schema or variant, and the file that
// contains the default.
func (c *checker) fieldDefault(d *types.Decl, v *VariantRef, f *types.Field) (ast.Expr, *Info) {
	m, fields := c.fieldDecls(d, v)
	for _, decl := range fields {
		if decl.Name.Name == f.Name && decl.Default != nil {
			c.checkDefault(m, decl.Default, f.Type)
			return decl.Default, m.info
		}
	}
	return nil, nil
}

// fieldDecls returns the declarations of the fields of a type or variant, and their module.
func (c *checker) fieldDecls(d *types.Decl, v *VariantRef) (*module, []*ast.FieldDecl) {
	m := originOf(d).mod
	e := m.names[d.Name]
	if e == nil {
		return m, nil
	}
	switch decl := e.decl.(type) {
	case *ast.StructDecl:
		return m, decl.Fields
	case *ast.SchemaDecl:
		return m, decl.Fields
	case *ast.EnumDecl:
		if v != nil {
			return m, decl.Variants[v.Index].Fields
		}
	default: // the others have no fields
	}
	return m, nil
}

// checkDefault checks that a field's default is a constant of type t. It checks each default only
// once.
func (c *checker) checkDefault(m *module, x ast.Expr, t types.Type) {
	m.info.fill()
	if m.info.types[x.ID()] != nil {
		return
	}
	b := c.constBody(m)
	b.checkAs(x, t, reason{})
	b.finish()
	if m.info.types[x.ID()] != types.Bad {
		c.fold(m, x)
	}
}

// FieldDefault returns the default of a field as a constant, or nil if the field has no default.
// The field belongs to the struct or schema d, or to the variant v of the enum d.
func (p *Program) FieldDefault(d *types.Decl, v *types.Variant, f *types.Field) *Const {
	var ref *VariantRef
	if v != nil {
		ref = &VariantRef{Index: v.Index}
	}
	x, info := p.checker.fieldDefault(d, ref, f)
	if x == nil {
		return nil
	}
	value := p.checker.evaluate(originOf(d).mod, x, f.Type)
	return &Const{Name: f.Name, Type: f.Type, Expr: x, Info: info, Value: value, state: constDone}
}

// ErrorType returns a built-in error type by its name. It returns nil if the program was compiled
// without the library.
func (p *Program) ErrorType(name string) *types.Named {
	n, _ := p.checker.errorType(name).(*types.Named)
	return n
}
