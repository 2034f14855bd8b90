package stdlib

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonrepair"
)

// Reading a choice, a number or a Bool that a model wrote in a sentence, in Markdown, or as the
// only member of an object: "**Easy.**", "The answer is: easy", {"answer": "easy"}.

// numbers matches numbers as people write them in prose.
var numbers = regexp.MustCompile(`-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`)

// inProse returns the one value of type t that a text names. It returns nil when the text names
// none or several, when it denies the one, or when it holds an object or an array: what is
// one of many in there is not the answer.
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

// mentions returns the places of a text at which a value of type t may be named, longest first
// where they overlap.
func mentions(text string, t *value.Type) [][]int {
	var words []string
	switch t.Kind {
	case value.TypeInt, value.TypeFloat:
		return slices.DeleteFunc(numbers.FindAllStringIndex(text, -1), func(at []int) bool { return !standsAlone(text, at) })
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
			if standsAlone(text, at) {
				all = append(all, at)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(at []int) bool { // "easy" of "very easy", where both are choices
		return slices.ContainsFunc(all, func(o []int) bool { return o[0] <= at[0] && at[1] <= o[1] && o[1]-o[0] > at[1]-at[0] })
	})
}

// standsAlone reports whether what is at a place of a text is a word or a number of its own: not
// a part of another word, of a date, of a decimal or of a percentage.
func standsAlone(text string, at []int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
	after, size := utf8.DecodeRuneInString(text[at[1]:])
	next, _ := utf8.DecodeRuneInString(text[at[1]+size:])
	part := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '-' || c == '/'
	}
	joined := func(c rune) bool { return (c == '.' || c == ',' || c == ':') && unicode.IsDigit(next) }
	return !part(before) && before != '.' && before != '$' && !part(after) && after != '%' && !joined(after) ||
		// Markdown's emphasis with underscores: _easy_
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

// onlyMember returns the value of an object's only member if it fits the scalar type t; else nil.
func onlyMember(object []byte, t *value.Type) *typedRead {
	if !isScalar(t) || t.Kind == value.TypeString || len(object) == 0 || object[0] != '{' {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || len(members) != 1 {
		return nil
	}
	for name, member := range members {
		f := &typedRead{Reading: schema.Read(member, t)}
		if len(f.Errors) == 0 {
			f.mended = []string{fmt.Sprintf("took it out of the member %q", name)}
			return f
		}
	}
	return nil
}

// isScalar reports whether values of t are texts, numbers, Bools or choices.
func isScalar(t *value.Type) bool {
	switch t.Kind {
	case value.TypeString, value.TypeUnion, value.TypeEnum, value.TypeInt, value.TypeFloat, value.TypeBool:
		return true
	}
	return false
}
