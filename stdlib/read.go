package stdlib

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonrepair"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Reading as a value of a type what a model or a host wrote
// (spec/07-agents.md). Of the values in a text, the one that fits the type best
// is taken. When that one does not fit, the error names every misfit; no other
// value is tried in its place.

// The bounds of what is told: a model is not helped by more, a program neither.
const (
	maxErrors  = 20
	maxRepairs = 50
)

// typedRead is a value in a text.
type typedRead struct {
	schema.Reading
	mended []string
}

// better says whether f fits better than g: it has fewer misfits, else more of
// the type's members, else fewer repairs. When all are equal the later value
// wins, since the last value that a model writes is its answer.
func (f *typedRead) better(g *typedRead) bool {
	switch {
	case len(f.Errors) != len(g.Errors):
		return len(f.Errors) < len(g.Errors)
	case f.Hits != g.Hits:
		return f.Hits > g.Hits
	}
	return len(f.mended)+len(f.Repairs) <= len(g.mended)+len(g.Repairs)
}

// repairs lists all that was done to the text.
func (f *typedRead) repairs() []string {
	out := f.mended
	for _, r := range f.Repairs {
		out = append(out, r.Error())
	}
	if n := len(out) - maxRepairs; n > 0 {
		out = append(out[:maxRepairs:maxRepairs], fmt.Sprintf("and %d more", n))
	}
	return out
}

// readText reads a text as a t. It gives the value with the list of repairs, or
// the problem.
func readText(a *vm.Args, text string, t *value.Type) (v value.Slot, repairs []string, wrong string) {
	candidates := jsonrepair.FindIn(text, a.Step)
	best, fitting, cut := (*typedRead)(nil), 0, false
	for _, c := range candidates {
		if cut = cut || c.Cut; c.Cut {
			continue
		}
		f := &typedRead{schema.ReadIn(a.Pace(), c.JSON, t), c.Repairs}
		if len(f.Errors) > 0 {
			f = cmp.Or(onlyMember(c.JSON, t), f)
		}
		if len(f.Errors) == 0 {
			fitting++
		}
		if best == nil || f.better(best) {
			best = f
		}
	}
	if f := inARow(a, text, t, candidates, cut); f != nil {
		if fitting > 0 {
			return value.Nil, nil, "the text holds several values, and does not say whether one of them is meant or all"
		}
		best, fitting = f, 1
	}
	if fitting == 0 && isScalar(t) {
		if f := cmp.Or(bare(text, t), inProse(text, t, candidates)); f != nil {
			best, fitting = f, 1
		}
	}
	switch {
	case fitting > 1:
		best.mended = append(best.mended, fmt.Sprintf("took one of %d values that fit", fitting))
	case best == nil && cut:
		return value.Nil, nil, "the JSON in the text is cut off, or cannot be read"
	case best == nil && isScalar(t):
		return value.Nil, nil, misfits(schema.ReadText(strings.TrimSpace(text), t).Errors)
	case best == nil:
		return value.Nil, nil, "no JSON in the text"
	case fitting == 0:
		return value.Nil, nil, misfits(best.Errors)
	}
	return best.Value, best.repairs(), ""
}

// bare reads a text that is a scalar without quotes; nil when it is not.
func bare(text string, t *value.Type) *typedRead {
	if f := (&typedRead{Reading: schema.ReadText(strings.TrimSpace(text), t)}); len(f.Errors) == 0 {
		return f
	}
	return nil
}

// inARow reads values that stand one after the other, as in NDJSON, as the
// elements of an array; nil when the text has no such form.
func inARow(a *vm.Args, text string, t *value.Type, candidates []jsonrepair.Candidate, cut bool) *typedRead {
	if t.Kind != value.TypeArray || len(candidates) < 2 || cut || !jsonrepair.InRow(text, candidates) {
		return nil
	}
	all := []byte{'['}
	for i, c := range candidates {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, c.JSON...)
	}
	f := &typedRead{Reading: schema.ReadIn(a.Pace(), append(all, ']'), t)}
	if len(f.Errors) > 0 {
		return nil
	}
	f.mended = []string{fmt.Sprintf("read %d values in a row as an array", len(candidates))}
	return f
}

// misfits gives the errors in one line, the first of many.
func misfits(errs []schema.FieldError) string {
	if n := len(errs) - maxErrors; n > 0 {
		return fmt.Sprintf("%s; and %d more", schema.Join(errs[:maxErrors]), n)
	}
	return schema.Join(errs)
}

// shapeRead gives (value, repairs).
func shapeRead(a *vm.Args) (value.Slot, error) {
	text, t := a.String(0), a.Type(1)
	v, repairs, wrong := readText(a, text, t)
	if wrong != "" {
		return value.Nil, native.SchemaError(t, wrong, text)
	}
	return value.Tuple(v, value.StringArray(repairs)), nil
}
