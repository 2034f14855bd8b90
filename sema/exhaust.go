package sema

import (
	"fmt"
	"strconv"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/coverage"
	"github.com/concerto-lang/concerto/sema/edits"
)

// checkExhaustive reports the missing cases and the unreachable arms of a match.
func (b *body) checkExhaustive(e *ast.MatchExpr, subject types.Type) {
	t := types.Resolve(subject)
	if t == types.Bad || b.c.diags.HasErrors() && b.hasBadPattern(e, t) {
		return
	}
	arms := coverage.NewArms(t)
	for _, arm := range e.Arms {
		p := b.coveragePattern(arm.Pattern)
		if !arms.Reaches(p) {
			b.report(diag.UnreachableArm.At(arm.Pattern.Span(), "unreachable arm").
				Repair(edits.RemoveRow(b.info.File.Source, arm.Sp, "Remove the arm"), "the arms before it match all its values; remove or move it"))
		}
		if arm.Guard == nil {
			arms.Add(p)
		}
	}
	var missing []string
	for len(missing) < 4 && arms.AddMissing(&missing) {
	}
	if len(missing) == 0 {
		return
	}
	d := diag.MissingArm.At(e.Head, "missing arm for %s", quotedNames(missing)).Label(e.Subject.Span(), "this is `%s`", types.Full(t))
	advice := diag.HintAdvice("add `_ => …` for all other values")
	if missing[0] != "_" {
		advice = diag.HintAdvice("add `" + missing[0] + " => …`, or `_ => …` for all other values")
	}
	b.report(d.Advise(b.addArms(advice, e, missing, arms)))
}

// hasBadPattern reports whether a pattern of the match had an error. The values that the pattern
// covers are then unknown.
func (b *body) hasBadPattern(e *ast.MatchExpr, t types.Type) bool {
	for _, arm := range e.Arms {
		switch p := arm.Pattern.(type) {
		case *ast.VariantPat, *ast.StructPat, *ast.PathPat:
			if b.info.Variant(p) == nil {
				return true
			}
		case *ast.NamePat:
			if b.info.objects[p.Id] == nil && b.info.Variant(p) == nil {
				return true
			}
		case *ast.TuplePat:
			if tuple, ok := t.(*types.Tuple); ok && len(p.Elems) != len(tuple.Elems) {
				return true
			}
		case *ast.BadPat:
			return true
		default: // the others are reported where they are wrong, and cover values
		}
	}
	return false
}

// bindIrrefutable binds a pattern that must match every value. It reports a pattern that may not
// match.
func (b *body) bindIrrefutable(p ast.Pattern, t types.Type, mut bool, where string, a diag.Advice) {
	errors := b.errors
	b.pattern(p, t, mut)
	t = types.Resolve(t)
	if t == types.Bad || b.errors > errors || b.bindsAll(p) {
		return
	}
	if missing, ok := coverage.Unmatched(b.coveragePattern(p), t); ok {
		b.report(diag.Refutable.At(p.Span(), "this pattern does not match %s, but %s must match every value", unmatched(missing), where).
			Advise(a))
	}
}

// unmatched returns the text of a message about values that a pattern does not match.
func unmatched(witness string) string {
	if witness == "_" {
		return "every value"
	}
	return quotedNames([]string{witness})
}

// bindsAll reports whether a pattern is a name or `_`, and therefore matches every value.
func (b *body) bindsAll(p ast.Pattern) bool {
	switch p := p.(type) {
	case *ast.WildPat:
		return true
	case *ast.NamePat:
		_, binds := b.info.objects[p.Id].(*Local)
		return binds
	default: // the others may fail, or bind parts
	}
	return false
}

// coveragePattern converts a pattern to the form that package coverage uses.
func (b *body) coveragePattern(p ast.Pattern) coverage.Pattern {
	switch p := p.(type) {
	case *ast.NamePat:
		if v := b.info.Variant(p); v != nil {
			return coverage.Pattern{Constructor: variantCtor(v)}
		}
		if k, ok := b.info.objects[p.Id].(*Const); ok {
			return coverage.Pattern{Constructor: literalCtor(k.Value)}
		}
		return coverage.Pattern{}
	case *ast.BindPat:
		return b.coveragePattern(p.Pattern)
	case *ast.LitPat:
		return coverage.Pattern{Constructor: b.literalConstructor(p.Value)}
	case *ast.RangePat:
		return coverage.Pattern{Constructor: fmt.Sprintf("range at %d", p.Sp.Start)}
	case *ast.OrPat:
		return coverage.Pattern{Alternatives: b.coveragePatterns(p.Alts)}
	case *ast.TuplePat:
		return coverage.Pattern{Constructor: coverage.Tuple(len(p.Elems)), Args: b.coveragePatterns(p.Elems)}
	case *ast.ArrayPat:
		if p.Rest < 0 {
			return coverage.Pattern{Constructor: "[]", Args: b.coveragePatterns(p.Elems)}
		}
		return coverage.Pattern{Constructor: "[]", Rest: true, Args: b.coveragePatterns(p.Elems[:p.Rest]), After: b.coveragePatterns(p.Elems[p.Rest:])}
	case *ast.VariantPat:
		if v := b.info.Variant(p); v != nil {
			return coverage.Pattern{Constructor: variantCtor(v), Args: b.coveragePatterns(p.Parts(v.valueCount()))}
		}
	case *ast.PathPat:
		if v := b.info.Variant(p); v != nil {
			return coverage.Pattern{Constructor: variantCtor(v)}
		}
	case *ast.StructPat:
		return b.structCoverage(p)
	case *ast.BadPat, *ast.WildPat: // these match all values
	}
	return coverage.Pattern{}
}

// variantCtor returns the name of a variant with the name of its enum. Both are necessary, because
// a match on an Any may contain variants of different enums with the same name.
func variantCtor(v *VariantRef) string {
	if n, ok := v.Type.(*types.Named); ok && v.Variant != nil {
		return n.Decl.Name + "::" + v.Name
	}
	return v.Name
}

// valueCount returns the number of values in a variant's payload.
func (v *VariantRef) valueCount() int {
	switch {
	case v.Variant != nil:
		return len(v.Variant.Fields)
	case v.Name == "None":
		return 0
	}
	return 1
}

func (b *body) coveragePatterns(ps []ast.Pattern) []coverage.Pattern {
	out := make([]coverage.Pattern, len(ps))
	for i, p := range ps {
		out[i] = b.coveragePattern(p)
	}
	return out
}

// structCoverage converts a struct pattern for package coverage. The fields are in the order of
// their declaration.
func (b *body) structCoverage(p *ast.StructPat) coverage.Pattern {
	v := b.info.Variant(p)
	if v == nil {
		return coverage.Pattern{}
	}
	n := v.Type.(*types.Named)
	fields, ctor := n.Decl.Fields, "struct "+n.Decl.Name
	if v.Variant != nil {
		fields, ctor = v.Variant.Fields, variantCtor(v)
	}
	args := make([]coverage.Pattern, len(fields))
	for _, f := range p.Fields {
		if decl := findField(fields, f.Name.Name); decl != nil {
			args[decl.Index] = b.coveragePattern(f.Pattern)
		}
	}
	return coverage.Pattern{Constructor: ctor, Args: args}
}

// literalConstructor returns the name that represents a literal as a constructor in package
// coverage.
func (b *body) literalConstructor(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BoolLit:
		return strconv.FormatBool(x.Value)
	case *ast.IntLit:
		return strconv.FormatUint(x.Value, 10)
	case *ast.FloatLit:
		return strconv.FormatFloat(x.Value, 'g', -1, 64)
	case *ast.StringLit:
		return strconv.Quote(x.Value)
	case *ast.NilLit:
		return "None"
	case *ast.Unary:
		return "-" + b.literalConstructor(x.X)
	default: // the others are no literals
	}
	return "?"
}

func literalCtor(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}
