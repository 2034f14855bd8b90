package stdlib

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonrepair"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// This file reads a text from a model or a host as a value of a type (spec/07-agents.md). If the
// text contains several values, it uses the one that fits the type best. If that value does not
// fit, the error names every part that does not fit.

// Limits for the error messages that a model or a program receives.
const (
	maxErrors  = 20
	maxRepairs = 50
)

// typedRead is the result of reading one value in a text as a type.
type typedRead struct {
	schema.Reading
	mended []string
	rival  bool // another value of the text fits as well
}

// fitsLike reports whether both values fit the type, and equally well.
func (f *typedRead) fitsLike(g *typedRead) bool {
	return len(f.Errors) == 0 && len(g.Errors) == 0 && f.Hits == g.Hits
}

// isBetterThan reports whether f fits better than g. The first difference decides: fewer misfits,
// more members of the type, fewer repairs. If there is no difference, f is better, because the last
// value of a model is its answer and f comes after g.
func (f *typedRead) isBetterThan(g *typedRead) bool {
	switch {
	case len(f.Errors) != len(g.Errors):
		return len(f.Errors) < len(g.Errors)
	case f.Hits != g.Hits:
		return f.Hits > g.Hits
	}
	return len(f.mended)+len(f.Repairs) <= len(g.mended)+len(g.Repairs)
}

// repairs returns descriptions of all changes that were necessary to read the value.
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

// readText reads a text as a value of type t. It returns the value and descriptions of the repairs,
// or the problem if it cannot read the text.
func readText(a *vm.Args, text string, t *value.Type) (v value.Slot, repairs []string, wrong string) {
	candidates := jsonrepair.FindIn(text, a.Step)
	best, fitting, cut, elided := (*typedRead)(nil), 0, false, false
	for _, c := range candidates {
		cut, elided = cut || c.Cut, elided || c.Elided
		if c.Cut || c.Elided {
			continue
		}
		f := &typedRead{Reading: schema.ReadIn(a.Pace(), c.JSON, t), mended: c.Repairs}
		if len(f.Errors) > 0 {
			f = cmp.Or(onlyMember(c.JSON, t), f)
		}
		if len(f.Errors) == 0 {
			fitting++
		}
		if best != nil && f.fitsLike(best) && !value.EqualIn(a.Pace(), f.Value, best.Value) {
			f.rival, best.rival = true, true
		}
		if best == nil || f.isBetterThan(best) {
			best = f
		}
	}
	if f := readSequence(a, text, t, candidates, cut); f != nil {
		if fitting > 0 {
			return value.Nil, nil, "the text contains several values; which of them to use is unknown"
		}
		best, fitting = f, 1
	}
	if fitting == 0 && isScalar(t) {
		if f := cmp.Or(readBareScalar(text, t), inProse(text, t, candidates)); f != nil {
			best, fitting = f, 1
		}
	}
	switch {
	case fitting > 1 && best.rival:
		return value.Nil, nil, "the text contains several values that fit; which of them to use is unknown"
	case fitting > 1:
		best.mended = append(best.mended, fmt.Sprintf("took one of %d values that fit", fitting))
	case best == nil && elided:
		return value.Nil, nil, "the JSON in the text leaves parts out by `...`"
	case best == nil && cut:
		return value.Nil, nil, "the JSON in the text is incomplete or invalid"
	case best == nil && isScalar(t):
		return value.Nil, nil, describeMisfits(schema.ReadText(strings.TrimSpace(text), t).Errors)
	case best == nil:
		return value.Nil, nil, "no JSON in the text"
	case fitting == 0:
		return value.Nil, nil, describeMisfits(best.Errors)
	}
	return best.Value, best.repairs(), ""
}

// readBareScalar reads a text that consists of a scalar without quotes. It returns nil if the text
// is not of this form.
func readBareScalar(text string, t *value.Type) *typedRead {
	if f := (&typedRead{Reading: schema.ReadText(strings.TrimSpace(text), t)}); len(f.Errors) == 0 {
		return f
	}
	return nil
}

// readSequence reads a sequence of values, as in NDJSON, as the elements of an array. It returns
// nil if the text is not of this form.
func readSequence(a *vm.Args, text string, t *value.Type, candidates []jsonrepair.Candidate, cut bool) *typedRead {
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

// describeMisfits returns the first errors in one line.
func describeMisfits(errs []schema.FieldError) string {
	if n := len(errs) - maxErrors; n > 0 {
		return fmt.Sprintf("%s; and %d more", schema.Join(errs[:maxErrors]), n)
	}
	return schema.Join(errs)
}

// shapeRead reads a text as a value of a type and returns (value, repairs).
func shapeRead(a *vm.Args) (value.Slot, error) {
	text, t := a.String(0), a.Type(1)
	v, repairs, wrong := readText(a, text, t)
	if wrong != "" {
		return value.Nil, native.SchemaError(t, wrong, text)
	}
	return value.Tuple(v, value.StringArray(repairs)), nil
}

// The following functions read a choice, a number or a Bool that a model wrote in a sentence, in
// Markdown, or as the only member of an object: "**Easy.**", "The answer is: easy", {"answer":
// "easy"}.

// numbers matches numbers in prose.
var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`) })

// inProse returns the single value of type t that a text names. It returns nil if the text names no
// value or several values, or negates the value. It also returns nil if the text contains an object
// or an array, because one of the many values in it is not the answer.
func inProse(text string, t *value.Type, candidates []jsonrepair.Candidate) *typedRead {
	if slices.ContainsFunc(candidates, isContainer) {
		return nil
	}
	var found *typedRead
	for _, at := range mentions(text, t) {
		f := &typedRead{Reading: schema.ReadText(text[at[0]:at[1]], t)}
		switch {
		case len(f.Errors) > 0:
			continue
		case isDenied(text[:at[0]]), found != nil && !value.Equal(found.Value, f.Value):
			return nil
		}
		f.mended = []string{fmt.Sprintf("took %q out of the text around it", text[at[0]:at[1]])}
		found = f
	}
	return found
}

func isContainer(c jsonrepair.Candidate) bool {
	return c.Cut || len(c.JSON) > 0 && (c.JSON[0] == '{' || c.JSON[0] == '[')
}

// mentions returns the positions of a text at which a value of type t may be named. If positions
// overlap, it returns only the longest one.
func mentions(text string, t *value.Type) [][]int {
	var words []string
	switch t.Kind {
	case value.TypeInt, value.TypeFloat:
		return slices.DeleteFunc(numbers().FindAllStringIndex(text, -1), func(at []int) bool { return !isWholeWord(text, at) })
	case value.TypeBool:
		words = []string{"true", "false", "yes", "no"}
	case value.TypeUnion:
		words = t.Values
	case value.TypeEnum:
		for _, v := range t.Variants {
			words = append(words, v.Name)
		}
	}
	var all [][]int
	for _, w := range words {
		if w == "" {
			continue
		}
		for _, at := range regexp.MustCompile("(?i)"+regexp.QuoteMeta(w)).FindAllStringIndex(text, -1) {
			if isWholeWord(text, at) {
				all = append(all, at)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(at []int) bool { // for example "easy" within "very easy", if both are choices
		return slices.ContainsFunc(all, func(o []int) bool { return o[0] <= at[0] && at[1] <= o[1] && o[1]-o[0] > at[1]-at[0] })
	})
}

// isWholeWord reports whether the text at a position is a separate word or number. It must not be a
// part of another word, of a date, of a decimal or of a percentage.
func isWholeWord(text string, at []int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
	after, size := utf8.DecodeRuneInString(text[at[1]:])
	next, _ := utf8.DecodeRuneInString(text[at[1]+size:])
	part := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '-' || c == '/'
	}
	joined := func(c rune) bool { return (c == '.' || c == ',' || c == ':') && unicode.IsDigit(next) }
	return !part(before) && before != '.' && before != '$' && !part(after) && after != '%' && !joined(after) ||
		// emphasis in Markdown: _easy_
		before == '_' && after == '_'
}

// isDenied reports whether the last word of a text is a negation.
func isDenied(before string) bool {
	words := strings.Fields(strings.ToLower(before))
	if len(words) == 0 {
		return false
	}
	last := strings.Trim(words[len(words)-1], "*_`\"'(")
	return last == "not" || last == "never" || strings.HasSuffix(last, "n't") || strings.HasSuffix(last, "n’t")
}

// answerNames are the names of members that are the answer itself if they are an object's only one.
// The value of another member, such as `error`, is no answer.
var answerNames = []string{"value", "result", "answer", "output"}

// onlyMember returns the value of an object's only member if its name is one of answerNames and the
// value fits the scalar type t. Otherwise it returns nil.
func onlyMember(object []byte, t *value.Type) *typedRead {
	if !isScalar(t) || t.Kind == value.TypeString || len(object) == 0 || object[0] != '{' {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || len(members) != 1 {
		return nil
	}
	for name, member := range members {
		if !slices.Contains(answerNames, name) {
			return nil
		}
		f := &typedRead{Reading: schema.Read(member, t)}
		if len(f.Errors) == 0 {
			f.mended = []string{fmt.Sprintf("took it out of the member %q", name)}
			return f
		}
	}
	return nil
}

// isScalar reports whether values of type t are texts, numbers, Bools or choices.
func isScalar(t *value.Type) bool {
	switch t.Kind {
	case value.TypeString, value.TypeUnion, value.TypeEnum, value.TypeInt, value.TypeFloat, value.TypeBool:
		return true
	}
	return false
}
