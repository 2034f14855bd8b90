package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// declarePattern declares the variables of a pattern. All alternatives bind the same variables.
func (f *builder) declarePattern(p ast.Pattern) {
	switch p := p.(type) {
	case *ast.NamePat:
		if l, ok := f.info.Object(p).(*sema.Local); ok {
			f.declare(l)
		}
	case *ast.BindPat:
		f.declare(f.info.Object(p).(*sema.Local))
		f.declarePattern(p.Pattern)
	case *ast.OrPat:
		f.declarePattern(p.Alts[0])
	case *ast.TuplePat:
		f.declarePatterns(p.Elems)
	case *ast.VariantPat:
		f.declarePatterns(p.Elems)
	case *ast.ArrayPat:
		f.declarePatterns(p.Elems)
		if p.RestName != nil {
			f.declarePattern(p.RestName)
		}
	case *ast.StructPat:
		for _, fp := range p.Fields {
			f.declarePattern(fp.Pattern)
		}
	case *ast.BadPat, *ast.LitPat, *ast.PathPat, *ast.RangePat, *ast.WildPat: // these declare no variables
	}
}

func (f *builder) declarePatterns(ps []ast.Pattern) {
	for _, p := range ps {
		f.declarePattern(p)
	}
}

// bindPattern binds the variables of an irrefutable pattern. Only a value of type Any may not
// match; the program then faults.
func (f *builder) bindPattern(p ast.Pattern, v val, t types.Type) {
	f.bindWith(p, func(p ast.Pattern, fail *label) { f.match(p, v, t, fail) })
}

func (f *builder) bindWith(p ast.Pattern, match func(ast.Pattern, *label)) {
	fail := &label{}
	match(p, fail)
	if len(fail.from) == 0 {
		return
	}
	end := &label{}
	f.jump(ir.OpJump, 0, 0, end)
	f.bindLabel(fail)
	defer f.at(p.Span().Start)()
	f.emit(ir.OpFault, 0, 0, 0, f.g.stringConst("the value does not match the pattern"))
	f.bindLabel(end)
}

// match matches the pattern p against v, which has type t, and binds the pattern's variables. It
// jumps to fail if p does not match.
func (f *builder) match(p ast.Pattern, v val, t types.Type, fail *label) {
	defer f.at(p.Span().Start)()
	defer f.free(f.top)
	t = types.Resolve(t)
	switch p := p.(type) {
	case *ast.WildPat:
	case *ast.NamePat:
		f.matchName(p, v, t, fail)
	case *ast.BindPat:
		v = v.forPatterns()
		f.match(p.Pattern, v, t, fail)
		f.bind(f.info.Object(p).(*sema.Local), v, t)
	case *ast.LitPat:
		f.matchLiteral(p.Value, v, t, fail)
	case *ast.RangePat:
		f.matchRange(p, v, t, fail)
	case *ast.OrPat:
		v = v.forPatterns()
		f.alternatives(p, fail, func(alt ast.Pattern, fail *label) { f.match(alt, v, t, fail) })
	case *ast.TuplePat:
		f.matchTuple(p, v, t, fail)
	case *ast.ArrayPat:
		f.matchArray(p, v, t, fail)
	case *ast.StructPat:
		f.matchStruct(p, v, t, fail)
	case *ast.VariantPat:
		f.matchVariant(f.info.Variant(p), p, v, t, fail)
	case *ast.PathPat:
		f.matchPath(p, v, t, fail)
	default:
		bug(f.info, p.Span(), "%T cannot be generated", p)
	}
}

// bind assigns a value to a variable of a pattern. The variable only borrows the value if nothing
// can change the value while the variable lives.
func (f *builder) bind(l *sema.Local, v val, t types.Type) {
	x := f.variable(l)
	if x.borrows(l, v) {
		x.borrowed = true
	} else {
		f.markShared(v, t)
	}
	f.init(x, v)
	f.lostIn(l, nil)
}

func (f *builder) matchName(p *ast.NamePat, v val, t types.Type, fail *label) {
	switch o := f.info.Object(p).(type) {
	case *sema.Local:
		f.bind(o, v, t)
	case *sema.Const:
		f.matchConst(o.Value, o.Type, v, t, fail)
	default:
		f.matchVariant(f.info.Variant(p), noParts, v, t, fail)
	}
}

func (f *builder) matchPath(p *ast.PathPat, v val, t types.Type, fail *label) {
	if ref := f.info.Variant(p); ref != nil {
		f.matchVariant(ref, noParts, v, t, fail)
		return
	}
	c, ok := f.info.Object(p).(*sema.Const)
	if !ok {
		bug(f.info, p.Sp, "a path pattern that names nothing")
	}
	f.matchConst(c.Value, c.Type, v, t, fail)
}

// alternatives generates the alternatives of p in order. match generates the match of one
// alternative.
func (f *builder) alternatives(p *ast.OrPat, fail *label, match func(ast.Pattern, *label)) {
	done := &label{}
	last := len(p.Alts) - 1
	for _, alt := range p.Alts[:last] {
		next := &label{}
		match(alt, next)
		f.jump(ir.OpJump, 0, 0, done)
		f.bindLabel(next)
	}
	match(p.Alts[last], fail)
	f.bindLabel(done)
}

// checkType jumps to fail if v does not have type t. It generates nothing if every value of the
// static type from has type t.
func (f *builder) checkType(t, from types.Type, v val, fail *label) {
	if !types.IsAny(from) && from != types.Error {
		return
	}
	d := f.alloc()
	f.emit(ir.OpIsType, d, v.reg, 0, int32(f.g.typeIndex(t)))
	f.jump(ir.OpJumpIfNot, d, 0, fail)
}

func (f *builder) matchTuple(p *ast.TuplePat, v val, t types.Type, fail *label) {
	tuple, ok := t.(*types.Tuple)
	if !ok {
		tuple = &types.Tuple{}
		for range p.Elems {
			tuple.Elems = append(tuple.Elems, types.Any)
		}
		f.checkType(tuple, t, v, fail)
	}
	for i, q := range p.Elems {
		f.matchField(q, v, i, tuple.Elems[i], fail)
	}
}

// matchField matches the pattern q against slot n of the block v.
func (f *builder) matchField(q ast.Pattern, v val, n int, t types.Type, fail *label) {
	if _, wild := q.(*ast.WildPat); wild {
		return
	}
	top := f.top
	f.match(q, f.readField(v, n, class(t), -1), t, fail)
	f.free(top)
}

func (f *builder) matchArray(p *ast.ArrayPat, v val, t types.Type, fail *label) {
	elem := types.Type(types.Any)
	if a, ok := t.(*types.Array); ok {
		elem = a.Elem
	} else {
		f.checkType(&types.Array{Elem: types.Any}, t, v, fail)
	}
	n := f.alloc()
	f.emit(ir.OpArrayLen, n, v.reg, 0, 0)
	op, large := ir.OpJumpNeIntK, ir.OpJumpNeInt
	if p.Rest >= 0 {
		op, large = ir.OpJumpLtIntK, ir.OpJumpLtInt
	}
	if len(p.Elems) > 0 || p.Rest < 0 {
		f.jumpIntConst(op, large, val{reg: n, class: ir.Int}, int64(len(p.Elems)), fail)
	}
	for k, q := range p.Elems {
		top := f.top
		i := f.alloc()
		if p.Rest >= 0 && k >= p.Rest {
			f.emit(ir.OpSubIntK, i, n, 0, int32(len(p.Elems)-k))
		} else {
			f.emit(ir.OpLoadInt, i, 0, 0, int32(k))
		}
		d, c := f.alloc(), class(elem)
		f.emit(arrayGets[c], d, v.reg, i, 0)
		f.match(q, v.part(d, c), elem, fail)
		f.free(top)
	}
	if p.RestName != nil {
		f.bindRest(p, v, n, t)
	}
}

// bindRest binds the name in `..rest` to the elements that no other pattern matches.
func (f *builder) bindRest(p *ast.ArrayPat, v val, n int, t types.Type) {
	l, ok := f.info.Object(p.RestName).(*sema.Local)
	if !ok {
		return
	}
	base := f.alloc()
	f.alloc()
	f.emit(ir.OpLoadInt, base, 0, 0, int32(p.Rest))
	f.box(base, base, ir.Int)
	f.emit(ir.OpSubIntK, base+1, n, 0, int32(len(p.Elems)-p.Rest))
	f.box(base+1, base+1, ir.Int)
	d := f.alloc()
	f.emit(ir.OpSlice, d, v.reg, base, 0)
	f.bind(l, val{reg: d, class: ir.Full, owned: true}, t)
}

func (f *builder) matchStruct(p *ast.StructPat, v val, t types.Type, fail *label) {
	ref := f.info.Variant(p)
	named := types.Resolve(ref.Type).(*types.Named)
	f.checkType(named, t, v, fail)
	fields := named.Decl.Fields
	if ref.Index >= 0 {
		fields = ref.Variant.Fields
		f.jumpVariant(v, ref.Index, fail)
	}
	bound := map[*types.Param]types.Type{}
	for i, q := range named.Decl.Params {
		bound[q] = named.Args[i]
	}
	for _, fp := range p.Fields {
		field := fieldNamed(fields, fp.Name.Name)
		if field == nil { // a field that all errors have, such as kind and source
			top := f.top
			d := f.alloc()
			f.emit(ir.OpErrorField, d, v.reg, 0, f.g.stringConst(fp.Name.Name))
			f.match(fp.Pattern, val{reg: d, class: ir.Full}, f.info.PatternType(fp.Pattern), fail)
			f.free(top)
			continue
		}
		f.matchField(fp.Pattern, v, field.Index, types.Substitute(field.Type, bound), fail)
	}
}

func fieldNamed(fields []*types.Field, name string) *types.Field {
	for _, fd := range fields {
		if fd.Name == name {
			return fd
		}
	}
	return nil
}

// jumpVariant jumps to fail if v is not variant n.
func (f *builder) jumpVariant(v val, n int, fail *label) {
	f.jump(ir.OpJumpNotVariant, v.reg, n, fail)
}

// noParts is the pattern of a variant without payload.
var noParts = &ast.VariantPat{Rest: -1}

// matchVariant checks the variant of v, and matches the variant's payload against the patterns in
// p.
func (f *builder) matchVariant(ref *sema.VariantRef, p *ast.VariantPat, v val, t types.Type, fail *label) {
	switch {
	case ref.Variant == nil && ref.Name == "None":
		f.jump(ir.OpJumpNotNil, f.boxed(v, -1).reg, 0, fail)
	case ref.Variant == nil && ref.Name == "Some":
		f.jump(ir.OpJumpNil, v.reg, 0, fail)
		elem := types.Type(types.Any)
		if o, ok := t.(*types.Option); ok {
			elem = o.Elem
		}
		f.match(p.Parts(1)[0], f.unwrapped(v, t), elem, fail)
	case ref.Variant == nil:
		payload := types.Type(types.Any)
		if r, ok := t.(*types.Result); ok {
			payload = [...]types.Type{r.Ok, r.Err}[ref.Index]
		} else {
			f.checkType(&types.Result{Ok: types.Any, Err: types.Any}, t, v, fail)
		}
		f.jumpVariant(v, ref.Index, fail)
		f.matchField(p.Parts(1)[0], v, 0, payload, fail)
	default:
		f.matchEnum(ref, p.Parts(len(ref.Variant.Fields)), v, t, fail)
	}
}

func (f *builder) matchEnum(ref *sema.VariantRef, elems []ast.Pattern, v val, t types.Type, fail *label) {
	named, ok := t.(*types.Named)
	if !ok {
		named = types.Resolve(ref.Type).(*types.Named)
		f.checkType(named, t, v, fail)
	}
	f.jumpVariant(v, ref.Index, fail)
	f.matchPayload(ref, elems, v, named, fail)
}

// matchPayload matches the payload of v, which has the variant ref of the enum named.
func (f *builder) matchPayload(ref *sema.VariantRef, elems []ast.Pattern, v val, named *types.Named, fail *label) {
	bound := map[*types.Param]types.Type{}
	for i, q := range named.Decl.Params {
		bound[q] = named.Args[i]
	}
	for i, q := range elems {
		f.matchField(q, v, i, types.Substitute(ref.Variant.Fields[i].Type, bound), fail)
	}
}
