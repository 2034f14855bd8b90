package stdlib

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// searched contains expressions whose matches depend on the text around the start of a search.
var searched = []string{
	``, `a`, `ab`, `a*`, `a+?`, `a??`, `a|ab`, `ab|a`, `(a|ab)(c|bcd)(d*)`, `(a*)*`, `(a*)+`, `(?:a|b)*?c`, `x*`, `[^a]`, `.`, `(?s).`,
	`a.c`, `(?s)a.c`, `^a`, `a$`, `^`, `$`, `(?m)^`, `(?m)$`, `(?m)^a+$`, `\A`, `\z`, `\ba`, `a\b`, `\b`, `\B`, `\b\w+\b`, `\Ba\B`,
	`é`, `[äöü]+`, `\p{L}+`, `\PL`, `日本|日`, `(?i)straße`, `(?i)k`, `\d+`, `\w+@\w+`, `(\w)(\d)?(!)`, `(?P<y>\d+)-(?P<m>\d+)`,
	`a{2,3}`, `(ab){1,2}?`, `[a-c]{3}`, `(a|b|c|d)+e`, `a.*b`, `a.*?b`, `\s+`, `[^\s]+`, `foo|foobar`, `foobar|foo`, `(foo)?bar`, `a(b)?`,
	`(a)|b`, `(|a)+`, `(|a)*`, `a*?$`, `(?m)\n`, `\n^`, `(?:)|a`, `[\x{80}-\x{10FFFF}]`, `x(?:$|y)`, `(?U)a+`, `[[:^alpha:]]+`,
	`(a+)(b+)?$`, `\x{FFFD}`, `[^\x00-\x7F]b`, `^$`, `(?m)^$`, `ab\b|a`, `(?:a\b)?b*`, `\Q`, `\Qa.b`,
}

var searchedTexts = []string{
	"", "a", "b", "ab", "abc", "abcd", "aaaa", "aab", "xaxbx", "a\nb", "\n", "\n\n", "a\n\naa\n", "a b a", "ab ab", "foobar foo", "bar",
	"é", "éaé", "äöüß", "日本語日", "STRASSE straße", "kK\u212a", "a1! b! c22!", "2026-03-01", "ann@home, bob@work", "  a  b ", "aXbXb",
	"abcabcabd", "\x00a", "\U0001F600a\U0001F600", "aé\nbé", "_a_ a", "xyx", "aaaaab", "\ufffd",
}

// TestLongSearch checks that an interruptible search finds the same matches as package regexp.
func TestLongSearch(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, e := range searched {
		for _, text := range searchedTexts {
			sameMatches(t, e, strings.Repeat(text+"\n", readEach/(len(text)+1)+1))
		}
	}
	text := strings.Repeat("2026-03-01 ERROR user=ann.7@home.org took 12 ms: é\n", 200)
	for _, e := range []string{`\d+`, `ERROR`, `[a-z]+\.\d+@[a-z]+\.org`, `user=(\S+) took (\d+) ms`, `(?m)^.*é$`, `\bms\b`, `(?i)error|fatal`, `[ \n]+`, `x*`,
		`\b(\w)(\w*)\b`, `^(2026)`, `(?m)^(\d+)`, `(?m)(é)$`, `(é)?$`, `\B(a|b)*?`, `^`, `^x`, `^(?s:.)*`, `(?i)(R)\b|^2`} {
		sameMatches(t, e, text[:len(text)/2]+"日本"+text[len(text)/2:])
	}
}

func sameMatches(t *testing.T, pattern, text string) {
	t.Helper()
	x, err := expression(pattern)
	if err != nil {
		t.Fatal(err)
	}
	std := regexp.MustCompile(pattern)
	for _, n := range []int{-1, 0, 1, 2} {
		var got [][]int
		x.each(text, n, nil, func(m []int) { got = append(got, m) })
		if want := std.FindAllStringSubmatchIndex(text, n); !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("expression %q in %.40q with limit %d: found %d matches that differ from the expected %d", pattern, text, n, len(got), len(want))
		}
	}
	if got, want := x.matches(text, nil), std.MatchString(text); got != want {
		t.Errorf("expression %q in %.40q: matches = %v, want %v", pattern, text, got, want)
	}
}

// TestSearchCanBeInterrupted checks that a search in a long text can be interrupted.
func TestSearchCanBeInterrupted(t *testing.T) {
	text := strings.Repeat("ab cd é", 10_000)
	for _, e := range []string{`x`, `xyz`, `[xyz]+`, `^(?s:.)*x`, `^(a|b| |c|d|é)*x`, `\b(x)\b`, `a.*x`, `(?s)a.*`, `[^x]*`, `(?s)(a.*)d`, `ab`, `x|$`} {
		x, err := expression(e)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0 // number of checks by the pace
		search := func(most int) (ended bool) {
			defer func() { ended = recover() != nil }()
			n := 0
			x.each(text, -1, &value.Pace{Check: func() int {
				if n++; n > most {
					panic("ended")
				}
				whole = n
				return 0
			}}, func([]int) {})
			return false
		}
		if search(1<<40) || whole < 2 {
			t.Errorf("%s: the search ended early or made only %d checks", e, whole)
		}
		if !search(whole / 2) {
			t.Errorf("the search for %s was not interrupted", e)
		}
	}
}
