package suggest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"question", "approval", "progress", "len", "to_string", "Point", "go", "größe"}
	for name, want := range map[string]string{
		"quesiton": "question", "aproval": "approval", "progess": "progress", "lne": "len", "tostring": "to_string",
		"point": "Point", "POINT": "Point", "to_stirng": "to_string", "grösse": "größe", "og": "go", "le": "len",
		"banana": "", "x": "", "": "", "len": "", "lenient": "", "question_of_the_day": "", "pxyzt": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Nearest("a", nil); got != "" {
		t.Errorf("Nearest without candidates = %q, want \"\"", got)
	}
}

// TestNearestWeighs checks that among names with the same distance, Nearest prefers the longer
// common beginning. Two common letters are not enough.
func TestNearestWeighs(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"lisn", []string{"in", "line", "listen"}, "listen"},
		{"lisn", []string{"in"}, ""},
		{"led", []string{"len"}, ""},
		{"foo", []string{"fo"}, "fo"},
		{"foo", []string{"bar", "for"}, ""},
		{"exten", []string{"often", "extend"}, "extend"},
		{"mpa", []string{"map", "max"}, "map"},
		{"printl", []string{"sprint", "println", "print"}, "println"},
		{"titel", []string{"tiled", "title"}, "title"},
		{"coutn", []string{"count", "mount"}, "count"},
		{"ax", []string{"ac", "ab"}, ""},
		{"abd", []string{"abdc", "abda"}, "abda"},
		{"temp", []string{"template_string_of_all", "temperature", "max"}, "temperature"},
		{"exec", []string{"execute_with_schema", "execute"}, "execute"},
		{"tem", []string{"temperature"}, ""},
		{"STREAM", []string{"stream"}, "stream"},
	} {
		if got := Nearest(c.name, c.candidates); got != c.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	var m matcher
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"abc", ""}: 3, {"abc", "abc"}: 0, {"abc", "acb"}: 1, {"abc", "adc"}: 1, {"abc", "abcd"}: 1,
		{"kitten", "sitting"}: 3, {"ä", "a"}: 1,
	} {
		if got := m.distance([]rune(pair[0]), []rune(pair[1])); got != want {
			t.Errorf("distance(%q, %q) = %d, want %d", pair[0], pair[1], got, want)
		}
	}
}

// TestNearestUsesShortcuts checks that the shortcuts in cost do not change its result.
func TestNearestUsesShortcuts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]rune, 1+r.IntN(9))
		for i := range b {
			b[i] = []rune("abcdABö_1\u0161")[r.IntN(10)]
		}
		return string(b)
	}
	near := 0
	for range 20_000 {
		name, other := word(), word()
		if r.IntN(2) == 0 { // a typing error or an abbreviation
			b := []rune(name)
			i := r.IntN(len(b))
			other = string(b[:i]) + []string{"", "x", "ab", "cdcd"}[r.IntN(4)] + string(b[min(i+r.IntN(2), len(b)):])
		}
		if name == other || other == "" {
			continue
		}
		m, c := newMatcher(name), newCandidate(other)
		cost, ok := m.cost(&c)
		wantCost, want := wholeCost([]rune(strings.ToLower(name)), []rune(strings.ToLower(other)))
		if ok != want || cost != wantCost {
			t.Fatalf("candidate %q for %q: cost %d, close %v; without shortcuts: cost %d, close %v", other, name, cost, ok, wantCost, want)
		}
		if ok {
			near++
		}
	}
	if near < 1000 {
		t.Errorf("only %d pairs of names were close, want at least 1000", near)
	}
}

// wholeCost computes cost without shortcuts.
func wholeCost(name, other []rune) (int, bool) {
	n, k, most := len(name), len(other), limit(len(name))
	m := matcher{name: name, other: other}
	same := 0
	for same < min(n, k) && name[same] == other[same] {
		same++
	}
	d, common := m.distance(name, other), common(m.name, m.other)
	switch {
	case d <= most && (common > 2 || d <= 1 && common == min(n, k)):
		return perEdit*d - perLetter*min(same, mostLetters), true
	case n >= 4 && same == n && k <= 3*n:
		return abbreviated + k, true
	}
	return 0, false
}

// TestCertain checks that Certain returns true only for a typing error, not for a name that may
// mean another declaration.
func TestCertain(t *testing.T) {
	for _, c := range []struct {
		name, near string
		others     []string
		want       bool
	}{
		{"totl", "total", nil, true},
		{"toatl", "total", nil, true},
		{"tottal", "total", nil, true},
		{"adress", "address", nil, true},
		{"recal", "recall", nil, true},
		{"totl", "total", []string{"totals"}, false},
		{"Println", "println", []string{"print", "sprintln"}, true},
		{"userName", "user_name", []string{"username"}, false},
		{"username", "user_name", nil, true},
		{"user_name", "username", nil, true},
		{"userName", "user_name", nil, true},
		{"USER_NAME", "userName", nil, true},
		{"open-ai", "openai", nil, true},
		{"user_nmae", "user_name", nil, true},
		{"summ", "sum", nil, true},
		{"nope", "None", nil, false}, // another case, and another letter
		{"exec", "execute", nil, false},
		{"decode", "encode", nil, false},
		{"max_price", "min_price", nil, false},
		{"pull_all", "push_all", nil, false},
		{"user_b", "user_a", nil, false},
		{"user_ab", "user_ba", nil, false},
		{"total", "totals", nil, false},
		{"totals", "total", nil, false},
		{"sync", "async", nil, false},
		{"print", "sprint", nil, false},
		{"x10", "x100", nil, false},
		{"port8080", "port8800", nil, false},
		{"v21_total", "v12_total", nil, false},
		{"x", "X", nil, false},
		{"toatl_pirce", "total_price", nil, false},
		{"total_max", "total", nil, false},
		{"or", "for", nil, false},
	} {
		if got := Certain(c.name, c.near, append(c.others, c.near)); got != c.want {
			t.Errorf("Certain(%q, %q, %q) = %v", c.name, c.near, c.others, got)
		}
	}
}

// TestMiddles checks, for all pairs of short names of three letters, that the middles of two names
// have the edit distance of the names, and lack as many common letters as they are shorter.
func TestMiddles(t *testing.T) {
	names := [][]rune{nil}
	for i := 0; len(names[i]) < 5; i++ {
		for _, r := range "abc" {
			names = append(names, append(slices.Clip(names[i]), r))
		}
	}
	var m matcher
	for _, a := range names {
		for _, b := range names {
			x, y, same := middles(a, b)
			if string(a[:same]) != string(b[:same]) {
				t.Fatalf("%q and %q do not have %d letters in common at the beginning", string(a), string(b), same)
			}
			if got, want := m.distance(x, y), m.distance(a, b); got != want {
				t.Fatalf("the distance of %q and %q is %d, that of their middles %d", string(a), string(b), want, got)
			}
			if got, want := len(a)-len(x)+common(x, y), common(a, b); got != want {
				t.Fatalf("%q and %q have %d common letters, by their middles %d", string(a), string(b), want, got)
			}
		}
	}
}
