package stdlib

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var regexNatives = []native{
	{"regex.captures", regexCaptures},
	{"regex.replace", regexReplace},
	{"regex.split", regexSplit},
	{"regex.__find", regexFind},
}

// regexFind gives at most n matches, all when n is negative, as values of the
// type in argument 3, Match.
func regexFind(a *vm.Args) (value.Slot, error) {
	re, err := expression(a.String(0))
	if err != nil {
		return value.Nil, err
	}
	s, match := a.Str(1), a.Type(3)
	found := re.FindAllStringSubmatchIndex(s.S, int(a.Int(2)))
	out := value.NewArray()
	a.Room(len(found) * matchSize)
	out.Reserve(len(found))
	place := places(s)
	none := value.NewArray().Slot() // what all matches share when there are no groups
	value.Share(none)
	for _, m := range found {
		groups := none
		if len(m) > 2 {
			texts := make([]string, 0, len(m)/2-1)
			for i := 2; i < len(m); i += 2 {
				texts = append(texts, group(s.S, m, i/2))
			}
			groups = value.StringArray(texts)
		}
		start := place(m[0])
		out.Push(match.Struct(value.String(s.S[m[0]:m[1]]), value.Int(start), value.Int(place(m[1])), groups))
	}
	return out.Slot(), nil
}

// matchSize is what a match takes, in bytes: its place in the array, its fields.
const matchSize = 6 * int(value.SlotSize)

// places makes a function from byte offsets, which must not fall, to
// characters.
func places(s *value.Str) func(offset int) int64 {
	if s.ASCII() {
		return func(offset int) int64 { return int64(offset) }
	}
	at, n := 0, 0
	return func(offset int) int64 {
		n += utf8.RuneCountInString(s.S[at:offset])
		at = offset
		return int64(n)
	}
}

// group gives what group i of a match matches, "" when it takes no part.
func group(s string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return s[m[2*i]:m[2*i+1]]
}

func regexCaptures(a *vm.Args) (value.Slot, error) {
	re, err := expression(a.String(0))
	if err != nil {
		return value.Nil, err
	}
	s := a.String(1)
	m := re.FindStringSubmatchIndex(s)
	if m == nil {
		return value.Nil, nil
	}
	out := value.NewMap(0)
	for i, name := range re.SubexpNames() {
		if i == 0 || m[2*i] < 0 {
			continue
		}
		if name == "" {
			name = strconv.Itoa(i)
		}
		out.SetString(name, value.String(group(s, m, i)))
	}
	return value.Some(out.Slot()), nil
}

// insert is a part of a replacement: text, or a group's match when it is not
// negative.
type insert struct {
	text  string
	group int
}

func regexReplace(a *vm.Args) (value.Slot, error) {
	re, err := expression(a.String(0))
	if err != nil {
		return value.Nil, err
	}
	s := a.String(1)
	parts, err := replacement(re, a.String(2))
	if err != nil {
		return value.Nil, err
	}
	var out []byte
	result := building{a: a}
	at := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		out = append(out, s[at:m[0]]...)
		for _, p := range parts {
			if p.group >= 0 {
				p.text = group(s, m, p.group)
			}
			out = append(out, p.text...)
		}
		at = m[1]
		if err := result.reaches(len(out), "replace"); err != nil {
			return value.Nil, err
		}
	}
	return value.String(string(append(out, s[at:]...))), nil
}

// replacement reads what matches are replaced by. A `$` that begins nothing
// stands for itself.
func replacement(re *regexp.Regexp, with string) ([]insert, error) {
	var parts []insert
	text := func(s string) { parts = append(parts, insert{text: s, group: -1}) }
	for {
		before, rest, found := strings.Cut(with, "$")
		text(before)
		if !found {
			return parts, nil
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		switch {
		case strings.HasPrefix(rest, "$"):
			text("$")
			with = rest[1:]
			continue
		case digits > 0:
			name, after = rest[:digits], rest[digits:]
		case !strings.HasPrefix(rest, "{") || !closed:
			text("$")
			with = rest
			continue
		}
		i, err := strconv.Atoi(name)
		if err != nil {
			i = re.SubexpIndex(name)
		}
		if i < 0 || i > re.NumSubexp() {
			return nil, value.Faultf("replace: the expression has no group %s", name)
		}
		parts, with = append(parts, insert{group: i}), after
	}
}

func regexSplit(a *vm.Args) (value.Slot, error) {
	re, err := expression(a.String(0))
	if err != nil {
		return value.Nil, err
	}
	return value.StringArray(re.Split(a.String(1), -1)), nil
}
