package redfa

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/seeds"
)

// expressions are those of all sorts that an automaton could get wrong.
var expressions = []string{
	``, `a`, `ab`, `a*`, `a+?`, `a??`, `a|ab`, `ab|a`, `(a|ab)(c|bcd)(d*)`, `(a*)*`, `(a*)+`, `(?:a|b)*?c`, `x*`, `[^a]`, `.`, `(?s).`,
	`a.c`, `(?s)a.c`, `^a`, `a$`, `^`, `$`, `(?m)^`, `(?m)$`, `(?m)^a+$`, `\A`, `\z`, `\ba`, `a\b`, `\b`, `\B`, `\b\w+\b`, `\Ba\B`,
	`é`, `[äöü]+`, `\p{L}+`, `\PL`, `日本|日`, `(?i)straße`, `(?i)k`, `\d+`, `\w+@\w+`, `(\w)(\d)?(!)`, `(?P<y>\d+)-(?P<m>\d+)`,
	`a{2,3}`, `(ab){1,2}?`, `[a-c]{3}`, `(a|b|c|d)+e`, `a.*b`, `a.*?b`, `\s+`, `[^\s]+`, `foo|foobar`, `foobar|foo`, `(foo)?bar`, `a(b)?`,
	`(a)|b`, `(|a)+`, `(|a)*`, `a*?$`, `(?m)\n`, `\n^`, `(?:)|a`, `[\x{80}-\x{10FFFF}]`, `x(?:$|y)`, `(?U)a+`, `a**`, `[[:^alpha:]]+`,
	`(a+)(b+)?$`, `\x{FFFD}`, `[^\x00-\x7F]b`, `^$`, `(?m)^$`, `ab\b|a`, `(?:a\b)?b*`, `\Q`, `\Qa.b`,
}

var texts = []string{
	"", "a", "b", "ab", "abc", "abcd", "aaaa", "aab", "xaxbx", "a\nb", "\n", "\n\n", "a\n\naa\n", "a b a", "ab ab", "foobar foo", "bar",
	"é", "éaé", "äöüß", "日本語日", "STRASSE straße", "kK\u212a", "a1! b! c22!", "2026-03-01", "ann@home, bob@work", "  a  b ", "aXbXb",
	"abcabcabd", "\x00a", "\U0001F600a\U0001F600", "aé\nbé", "_a_ a", "xyx", "aaaaab", "\ufffd",
}

func unpaced(int) {}

// All finds what package regexp finds, whole and with groups.
func TestSameAsRegexp(t *testing.T) {
	seeds.InOneGoroutine(t)
	for _, e := range expressions {
		for _, text := range texts {
			same(t, e, text)
		}
	}
}

func same(t *testing.T, expr, text string) {
	t.Helper()
	r, err := Compile(expr)
	std, stdErr := regexp.Compile(expr)
	if err != nil || stdErr != nil {
		if (err == nil) != (stdErr == nil) || err.Error() != stdErr.Error() {
			t.Errorf("%q: %v, regexp says %v", expr, err, stdErr)
		}
		return
	}
	for _, n := range []int{-1, 0, 1, 2} {
		want := std.FindAllStringSubmatchIndex(text, n)
		var got [][]int
		r.All(text, n, true, unpaced, func(m []int) { got = append(got, append([]int(nil), m...)) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q in %q, %d with groups:\n%s", expr, text, n, d)
		}
		want = std.FindAllStringIndex(text, n)
		got = nil
		r.All(text, n, false, unpaced, func(m []int) { got = append(got, append([]int(nil), m[:2]...)) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q in %q, %d:\n%s", expr, text, n, d)
		}
	}
	if got, want := r.MatchString(text, unpaced), std.MatchString(text); got != want {
		t.Errorf("%q in %q: matches %v, want %v", expr, text, got, want)
	}
}

// Long texts, met by an automaton that knows some of them already.
func TestLongTexts(t *testing.T) {
	seeds.InOneGoroutine(t)
	text := strings.Repeat("2026-03-01 ERROR user=ann.7@home.org took 12 ms: é\n", 200)
	for _, e := range []string{`\d+`, `ERROR`, `[a-z]+\.\d+@[a-z]+\.org`, `user=(\S+) took (\d+) ms`, `(?m)^.*é$`, `\bms\b`, `(?i)error|fatal`, `[ \n]+`, `x*`,
		`\b(\w)(\w*)\b`, `^(2026)`, `(?m)^(\d+)`, `(?m)(é)$`, `(é)?$`, `\B(a|b)*?`, `^`, `^x`, `^(?s:.)*`, `(?i)(R)\b|^2`} {
		same(t, e, text)
		same(t, e, text[:len(text)/2]+"日本"+text[len(text)/2:])
	}
}

// TestGivesUp: an automaton that gets too large hands over to package regexp in
// the middle of a text.
func TestGivesUp(t *testing.T) {
	const expr = `(a|b)*a(a|b){14}c`
	var b strings.Builder
	x := uint32(1)
	for i := range 40_000 {
		x = x*1664525 + 1013904223
		b.WriteByte("ab"[x>>31])
		if i%997 == 0 {
			b.WriteString("abbbbbbbbbbbbbbbc ")
		}
	}
	same(t, expr, b.String())
	r, err := Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	r.All(b.String(), -1, false, unpaced, func([]int) {})
	if !r.tooLarge || r.ahead != nil {
		t.Error("it has not given up: the test shows nothing")
	}
}

func FuzzSame(f *testing.F) {
	for i, e := range expressions {
		f.Add(e, texts[i%len(texts)])
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 60 || len(text) > 300 || strings.ToValidUTF8(text, "") != text || strings.ToValidUTF8(expr, "") != expr {
			return
		}
		same(t, expr, text)
	})
}

// A search in a long text can be ended, whatever does it.
func TestEnds(t *testing.T) {
	text := strings.Repeat("ab cd é", 10_000)
	for _, e := range []string{`x`, `xyz`, `[xyz]+`, `^(?s:.)*x`, `^(a|b| |c|d|é)*x`, `\b(x)\b`, `a.*x`, `(?s)a.*`, `[^x]*`, `(?s)(a.*)d`, `ab`, `x|$`} {
		r, err := Compile(e)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		search := func(most int) (ended bool) {
			defer func() { ended = recover() != nil }()
			n := 0
			r.All(text, -1, true, func(k int) {
				if n += k; n > most {
					panic("ended")
				}
				whole = n
			}, func([]int) {})
			return false
		}
		if search(1<<40) || whole < len(text)/64 {
			t.Errorf("%s: %d steps", e, whole)
		}
		if !search(whole / 2) {
			t.Errorf("%s is not ended", e)
		}
		same(t, e, text[:5000]) // what was ended in its midst does no harm
	}
}
