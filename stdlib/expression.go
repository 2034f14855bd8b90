package stdlib

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
)

// expr is a compiled regular expression. Package regexp searches a string without a pause,
// so a long text is passed to it character by character, which a run can interrupt.
type expr struct {
	*regexp.Regexp
	prefix string // of every match

	// later is the expression as a group after one character and any text: a search that
	// starts there still sees the character before it. It is nil when that is too large.
	later func() *regexp.Regexp
}

// readEach is the number of characters between two steps of a search, and the length in
// bytes up to which a text is searched at once.
const readEach = 1 << 12

// expressions holds the regular expressions that were used last.
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

// matches reports whether the expression matches anywhere in the text. The pace may
// panic to end the search.
func (x *expr) matches(text string, p *value.Pace) bool {
	if len(text) <= readEach {
		return x.MatchString(text)
	}
	return x.MatchReader(&characterReader{text: text, pace: p})
}

// each calls found with what FindAllStringSubmatchIndex returns, one match at a time.
// The pace is as for matches.
func (x *expr) each(text string, n int, p *value.Pace, found func(match []int)) {
	if len(text) <= readEach || x.later() == nil {
		for _, m := range x.FindAllStringSubmatchIndex(text, n) {
			found(m)
		}
		return
	}
	last := -1 // the end of the match before
	for pos := 0; n != 0 && pos <= len(text); {
		m := x.next(text, pos, p)
		if m == nil {
			return
		}
		accept := true
		if m[1] == pos { // an empty match does not follow another immediately
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

// next returns the leftmost match from pos on.
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

// characterReader reads a text and reports steps on the way.
type characterReader struct {
	text string
	at   int
	next int // where the next step is reported
	pace *value.Pace
}

// ReadRune implements io.RuneReader.
func (r *characterReader) ReadRune() (c rune, size int, err error) {
	if r.at >= r.next {
		r.pace.Step(16 * readEach) // a character takes package regexp as long as 16 steps
		r.next = r.at + readEach
	}
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return c, size, nil
}
