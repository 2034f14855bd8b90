package stdlib

import (
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var regexNatives = native.Table{
	{"regex.captures", regexCaptures},
	{"regex.replace", regexReplace},
	{"regex.split", regexSplit},
	{"regex.__find", regexFind},
}

// regexFind returns the first n matches, or all matches if n is negative. The matches have the type
// Match, which is argument 3.
func regexFind(a *vm.Args) (value.Slot, error) {
	re, err := expression(a.String(0))
	if err != nil {
		return value.Nil, err
	}
	s, match := a.Str(1), a.Type(3)
	var texts []string // text of each match and of its groups; the values are created together later
	var at []int64     // start and end of each match
	place := places(s)
	re.each(s.S, int(a.Int(2)), a.Pace(), func(m []int) {
		for i := range len(m) / 2 {
			texts = append(texts, group(s.S, m, i))
		}
		if len(at) == 2*matchSample { // reserve memory for all matches, estimated from the first ones
			most := min(matchSample*(len(s.S)/max(m[1], 1)+1), len(s.S)/matchSample)
			texts, at = slices.Grow(texts, most*len(m)/2), slices.Grow(at, most*2)
		}
		start := place(m[0])
		if at = append(at, start, place(m[1])); len(at)%roomEvery == 0 {
			a.Room(len(at) / 2 * matchSize)
		}
	})
	none := value.NewArray().Slot() // all matches share it if the expression has no groups
	value.Share(none)
	each := re.NumSubexp() + 1
	values := value.StringArray(texts).Array()
	out := make([]value.Slot, 0, len(at)/2)
	for i := 0; i < len(at); i += 2 {
		a.Step(4)
		groups, first := none, i/2*each
		if each > 1 {
			groups = value.SlotArray(values.Slots()[first+1 : first+each : first+each])
		}
		out = append(out, match.Struct(values.At(first), value.Int(at[i]), value.Int(at[i+1]), groups))
	}
	return value.SlotArray(out), nil
}

// matchSample is the number of matches from which regexFind estimates the total number.
const matchSample = 64

// roomEvery is the number of offsets after which regexFind checks the memory limit again.
const roomEvery = 4096

// matchSize is the size in bytes of a match: its place in the array and its fields.
const matchSize = 6 * int(value.SlotSize)

// places returns a function that converts byte offsets to character indices. Successive calls must
// pass offsets that do not decrease.
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

// group returns the text of group i of a match, or "" if the group is not part of the match.
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
	result := value.Nil
	re.each(s, 1, a.Pace(), func(m []int) {
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
		result = value.Some(out.Slot())
	})
	return result, nil
}

// insert is a part of a replacement. It is the match of a group if group is not negative, and
// otherwise a text.
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
	parts, err := replacement(re.Regexp, a.String(2))
	if err != nil {
		return value.Nil, err
	}
	out := make([]byte, 0, len(s))
	result := native.Growing{Args: a}
	at := 0
	re.each(s, -1, a.Pace(), func(m []int) {
		if err != nil {
			return
		}
		out = append(out, s[at:m[0]]...)
		for _, p := range parts {
			if p.group >= 0 {
				p.text = group(s, m, p.group)
			}
			out = append(out, p.text...)
		}
		at = m[1]
		err = result.Reserve(len(out), "replace")
	})
	if err != nil {
		return value.Nil, err
	}
	return value.String(string(append(out, s[at:]...))), nil
}

// replacement parses the text that replaces matches. A `$` that does not begin a reference is a
// literal dollar sign.
func replacement(re *regexp.Regexp, with string) (parts []insert, err error) {
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
	s := a.String(1)
	if s == "" && a.String(0) != "" {
		return value.StringArray([]string{""}), nil
	}
	var parts []string
	begin, end := 0, 0
	re.each(s, -1, a.Pace(), func(m []int) {
		if end = m[0]; m[1] > 0 {
			parts = append(parts, s[begin:end])
		}
		begin = m[1]
	})
	if end != len(s) {
		parts = append(parts, s[begin:])
	}
	return value.StringArray(parts), nil
}

// expr is a compiled regular expression. Package regexp cannot be interrupted while it searches a
// string. In a long text, expr therefore passes the characters to it through a reader, which
// reports steps to a pace.
type expr struct {
	*regexp.Regexp
	prefix string // literal text with which every match begins

	// later matches one character, any text, and then the expression as a group. A search with it
	// begins one character before the first possible match, so that the expression can check that
	// character (as `\b` does). It is nil if the combined expression is too large.
	later func() *regexp.Regexp
}

// readEach is the number of characters between two steps of a search. A text of at most that many
// bytes is searched without steps.
const readEach = 1 << 12

// expressions caches recently used regular expressions.
var expressions struct {
	sync.Mutex
	byText map[string]*expr
}

// expression compiles a regular expression. The error is a ParseError.
func expression(pattern string) (*expr, error) {
	expressions.Lock()
	defer expressions.Unlock()
	if x := expressions.byText[pattern]; x != nil {
		return x, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, native.ParseError(pattern, "is not a regular expression: "+reason)
	}
	x := &expr{Regexp: re, later: sync.OnceValue(func() *regexp.Regexp {
		later, _ := regexp.Compile(`\A(?s:.)(?s:.*?)(` + pattern + `)`)
		return later
	})}
	x.prefix, _ = re.LiteralPrefix()
	if expressions.byText == nil || len(expressions.byText) >= 64 {
		expressions.byText = map[string]*expr{}
	}
	expressions.byText[pattern] = x
	return x, nil
}

// matches reports whether the expression matches anywhere in the text. The pace may end the search
// by a panic.
func (x *expr) matches(text string, p *value.Pace) bool {
	if len(text) <= readEach {
		return x.MatchString(text)
	}
	return x.MatchReader(&characterReader{text: text, pace: p})
}

// each calls found for each of the first n matches, with an element of the result of
// FindAllStringSubmatchIndex. The pace may end the search by a panic.
func (x *expr) each(text string, n int, p *value.Pace, found func(match []int)) {
	if len(text) <= readEach || x.later() == nil {
		for _, m := range x.FindAllStringSubmatchIndex(text, n) {
			found(m)
		}
		return
	}
	last := -1 // end of the previous match
	for pos := 0; n != 0 && pos <= len(text); {
		m := x.next(text, pos, p)
		if m == nil {
			return
		}
		accept := true
		if m[1] == pos { // an empty match directly after another match is ignored
			accept = m[0] != last
			_, width := utf8.DecodeRuneInString(text[pos:])
			pos += max(width, 1)
		} else {
			pos = m[1]
		}
		if last = m[1]; accept {
			n--
			found(m)
		}
	}
}

// next returns the leftmost match at or after pos.
func (x *expr) next(text string, pos int, p *value.Pace) []int {
	at := value.IndexIn(p, text[pos:], x.prefix)
	if at < 0 {
		return nil
	}
	pos += at
	if pos == 0 {
		return x.FindReaderSubmatchIndex(&characterReader{text: text, pace: p})
	}
	_, width := utf8.DecodeLastRuneInString(text[:pos])
	from := pos - width
	m := x.later().FindReaderSubmatchIndex(&characterReader{text: text, at: from, next: from, pace: p})
	if m == nil {
		return nil
	}
	m = m[2:]
	for i := range m {
		if m[i] >= 0 {
			m[i] += from
		}
	}
	return m
}

// characterReader reads a text and reports steps to a pace.
type characterReader struct {
	text string
	at   int
	next int // offset at which the next step must be reported
	pace *value.Pace
}

// ReadRune implements io.RuneReader.
func (r *characterReader) ReadRune() (c rune, size int, err error) {
	if r.at >= r.next {
		r.pace.Step(16 * readEach) // package regexp needs about 16 steps for each character
		r.next = r.at + readEach
	}
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return c, size, nil
}
