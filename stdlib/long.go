package stdlib

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/vm"
)

// Operations on long texts. They give what package strings gives, but work in
// parts of some KiB and tell the pace of the call.

const partSize = 1 << 15

// mapped applies f to a text, possibly part by part: f must treat each
// character independently of the others.
func mapped(a *vm.Args, s string, f func(string) string) string {
	if len(s) <= partSize {
		a.Pace().Bytes(len(s))
		return f(s)
	}
	var out strings.Builder
	out.Grow(len(s))
	for part := range a.Pace().Windows(s) {
		out.WriteString(f(part))
	}
	return out.String()
}

// trimmed takes white space off both ends.
func trimmed(a *vm.Args, s string) string {
	if len(s) <= partSize {
		a.Pace().Bytes(len(s))
		return strings.TrimSpace(s)
	}
	return trimmedEnd(a, trimmedStart(a, s, trimLeft), trimRight)
}

// trimmedStart removes from the beginning of s what f removes; f must decide
// character by character.
func trimmedStart(a *vm.Args, s string, f func(string) string) string {
	for {
		n := utf8cut.Before(s, partSize)
		rest := f(s[:n])
		a.Pace().Bytes(n - len(rest))
		if rest != "" || n == len(s) {
			return s[n-len(rest):]
		}
		s = s[n:]
	}
}

// trimmedEnd is trimmedStart of the end.
func trimmedEnd(a *vm.Args, s string, f func(string) string) string {
	for {
		from := utf8cut.Before(s, len(s)-partSize)
		rest := f(s[from:])
		a.Pace().Bytes(len(s) - from - len(rest))
		if rest != "" || from == 0 {
			return s[:from+len(rest)]
		}
		s = s[:from]
	}
}

// repeated writes a text n times.
func repeated(a *vm.Args, s string, n int) string {
	if len(s)*n <= partSize {
		return strings.Repeat(s, n)
	}
	block := strings.Repeat(s, max(min(partSize/len(s), n), 1))
	var out strings.Builder
	out.Grow(len(s) * n)
	for left := len(s) * n; left > 0; left -= len(block) {
		a.Pace().Bytes(min(left, len(block)) >> 2) // copying is quick
		out.WriteString(block[:min(left, len(block))])
	}
	return out.String()
}

// occurrences counts those of a part in a text, side by side.
func occurrences(a *vm.Args, s, part string) int {
	n := 0
	switch len(part) {
	case 0:
		return value.CountIn(a.Pace(), s) + 1
	case 1:
		for w := range a.Pace().Windows(s) {
			n += strings.Count(w, part)
		}
		return n
	}
	for {
		i := value.IndexIn(a.Pace(), s, part)
		if i < 0 {
			return n
		}
		n++
		s = s[i+len(part):]
	}
}

// replaced replaces the first so many occurrences of a part, which there must be.
func replaced(a *vm.Args, s, from, to string, times int) string {
	if times == 0 || from == to {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + times*(len(to)-len(from)))
	for ; times > 0; times-- {
		i := 0
		if from != "" {
			i = value.IndexIn(a.Pace(), s, from)
		}
		a.Pace().Step(1 + len(to)>>6)
		out.WriteString(s[:i])
		out.WriteString(to)
		s = s[i+len(from):]
		if from == "" { // before each character, and at the end
			_, w := utf8.DecodeRuneInString(s)
			out.WriteString(s[:w])
			s = s[w:]
		}
	}
	out.WriteString(s)
	return out.String()
}

func trimLeft(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }

func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
