package stdlib

import (
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var promptNatives = native.Table{
	{"prompt.template", promptTemplate},
	{"prompt.count_tokens", func(a *vm.Args) (value.Slot, error) { return value.Int(tokens(a, a.String(0))), nil }},
}

func promptTemplate(a *vm.Args) (value.Slot, error) {
	vars := a.Map(1)
	return fillHoles(a, "template", "${", func(s string) (value.Slot, int, error) {
		name, width := hole(s)
		v, ok := vars.GetString(name)
		if width > 0 && !ok {
			return value.Nil, 0, value.Faultf("template: unknown name %q; %s", name, listNames(vars))
		}
		return v, width, nil
	})
}

// hole reads ${name} or {{name}} at the start of s. width is the length in bytes, or 0 if there is
// no placeholder.
func hole(s string) (name string, width int) {
	for _, b := range [][2]string{{"${", "}"}, {"{{", "}}"}} {
		rest, ok := strings.CutPrefix(s, b[0])
		if !ok {
			continue
		}
		if inner, _, ok := strings.Cut(rest, b[1]); ok && isName(strings.Trim(inner, " ")) {
			return strings.Trim(inner, " "), len(b[0]) + len(inner) + len(b[1])
		}
	}
	return "", 0
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// listNames returns a sentence with the names of a template's variables.
func listNames(vars *value.Map) string {
	var names []string
	vars.Each(func(k, _ value.Slot) bool {
		names = append(names, value.Text(k))
		return true
	})
	if len(names) == 0 {
		return "no names are defined"
	}
	return "the names are " + strings.Join(names, ", ")
}

// tokens estimates the number of tokens in a text from its sequences of similar characters.
func tokens(a *vm.Args, s string) int64 {
	var n, run int64
	last := signs
	end := func() {
		if last.per > 0 {
			n += (run + last.per - 1) / last.per
		} else if last.white && run > 1 {
			n++
		}
		run = 0
	}
	for part := range a.Pace().Windows(s) {
		for _, r := range part {
			if r == '\r' {
				continue
			}
			c := classOf(r)
			if c != last {
				end()
				last = c
			}
			if run++; r == '\n' || r == '\t' {
				run++ // a single newline or tab counts as a token, too
			}
		}
	}
	end()
	return n
}

// runClass is a class of similar characters for counting tokens. per is the number of characters in
// a token. A sequence of white space counts as at most one token.
type runClass struct {
	per   int64
	white bool
}

var (
	letters = runClass{per: 6}
	digits  = runClass{per: 3}
	signs   = runClass{per: 1}
	spaces  = runClass{white: true}
)

func classOf(r rune) runClass {
	switch {
	case unicode.IsSpace(r):
		return spaces
	case unicode.IsDigit(r):
		return digits
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return signs
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letters
	}
	return signs
}
