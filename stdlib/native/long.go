package native

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/vm"
)

// Operations on long texts. They have the same results as those of package strings, but process the
// text in parts of some KiB and report steps to the pace of the call.

const PartSize = 1 << 15

// Map applies f to a text, possibly in parts. f must transform each character independently of the
// others.
func Map(a *vm.Args, s string, f func(string) string) string {
	if len(s) <= PartSize {
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

// Trim removes white space at both ends.
func Trim(a *vm.Args, s string) string {
	if len(s) <= PartSize {
		a.Pace().Bytes(len(s))
		return strings.TrimSpace(s)
	}
	return TrimEnd(a, TrimStart(a, s, TrimLeft), TrimRight)
}

// TrimStart removes characters from the beginning of s. f removes characters from the beginning of
// a part and must decide for each character separately.
func TrimStart(a *vm.Args, s string, f func(string) string) string {
	for {
		n := utf8cut.Before(s, PartSize)
		rest := f(s[:n])
		a.Pace().Bytes(n - len(rest))
		if rest != "" || n == len(s) {
			return s[n-len(rest):]
		}
		s = s[n:]
	}
}

// TrimEnd removes characters from the end of s in the same way as TrimStart.
func TrimEnd(a *vm.Args, s string, f func(string) string) string {
	for {
		from := utf8cut.Before(s, len(s)-PartSize)
		rest := f(s[from:])
		a.Pace().Bytes(len(s) - from - len(rest))
		if rest != "" || from == 0 {
			return s[:from+len(rest)]
		}
		s = s[:from]
	}
}

// Repeat returns n copies of a text.
func Repeat(a *vm.Args, s string, n int) string {
	if len(s)*n <= PartSize {
		return strings.Repeat(s, n)
	}
	block := strings.Repeat(s, max(min(PartSize/len(s), n), 1))
	var out strings.Builder
	out.Grow(len(s) * n)
	for left := len(s) * n; left > 0; left -= len(block) {
		a.Pace().Bytes(min(left, len(block)) >> 2) // copying takes little time for each byte
		out.WriteString(block[:min(left, len(block))])
	}
	return out.String()
}

// Occurrences returns the number of non-overlapping occurrences of a part in a text.
func Occurrences(a *vm.Args, s, part string) int {
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

// Replace replaces the first times occurrences of from. The text must contain that many.
func Replace(a *vm.Args, s, from, to string, times int) string {
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

func TrimLeft(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }

func TrimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
