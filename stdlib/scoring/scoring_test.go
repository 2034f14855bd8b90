package scoring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// call calls a native of this package.
func call(t testing.TB, name string, window ...value.Slot) value.Slot {
	t.Helper()
	i := slices.IndexFunc(Natives, func(n struct {
		Name string
		Func vm.Native
	}) bool {
		return n.Name == name
	})
	if i < 0 {
		t.Fatalf("there is no native %s", name)
	}
	got, err := Natives[i].Func.Invoke(name, window)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got
}

func TestSameText(t *testing.T) {
	for _, c := range []struct {
		got, want string
		same      bool
	}{
		{"It's a Bug!", "its a bug", true},
		{"", " \t\n\u00a0\u3000.,;:!?", true},
		{"bug", "b u\r\ng", true},
		{"„Größe“ – 5", "GRÖSSE 5", false}, // ß is one letter
		{"„Größe“ – 5", "GRÖẞE 5", true},
		{"ΟΔΟΣ", "οδος", true}, // a final sigma
		{"東京、日本。", "東京日本", true},
		{"a-b_c", "abc", true},
		{"a+b", "ab", false}, // symbols are no punctuation
		{"5 €", "5", false},
		{"1.5", "15", true},
		{"bug", "bugs", false},
		{"é", "e", false},
		{"a\x00b", "ab", true},
	} {
		for _, window := range [][2]string{{c.got, c.want}, {c.want, c.got}} {
			if got := call(t, "eval.same_text", value.String(window[0]), value.String(window[1])).AsBool(); got != c.same {
				t.Errorf("same_text(%q, %q) = %t, want %t", window[0], window[1], got, c.same)
			}
		}
	}
}

// slowDistance is the Levenshtein distance by dynamic programming.
func slowDistance(x, y []rune) int {
	above := make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i, r := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j, q := range y {
			changed := above[j]
			if r != q {
				changed++
			}
			row[j+1] = min(changed, above[j+1]+1, row[j]+1)
		}
		above = row
	}
	return above[len(y)]
}

// checkSimilarity compares the similarity of two texts with the reference.
func checkSimilarity(t *testing.T, x, y string) {
	t.Helper()
	a, b := []rune(x), []rune(y)
	want := 1.0
	if longer := max(len(a), len(b)); longer > 0 {
		want = 1 - float64(slowDistance(a, b))/float64(longer)
	}
	for _, window := range [][2]string{{x, y}, {y, x}} {
		if got := call(t, "eval.similarity", value.String(window[0]), value.String(window[1])).AsFloat(); got != want {
			t.Errorf("similarity(%q, %q) = %v, want %v", window[0], window[1], got, want)
		}
	}
}

// edited returns a text with up to n random edits.
func edited(r *rand.Rand, text, letters []rune, n int) []rune {
	text = slices.Clone(text)
	for range n {
		i, letter := r.IntN(len(text)+1), letters[r.IntN(len(letters))]
		switch {
		case i == len(text) || r.IntN(3) == 0:
			text = slices.Insert(text, i, letter)
		case r.IntN(2) == 0:
			text = slices.Delete(text, i, i+1)
		default:
			text[i] = letter
		}
	}
	return text
}

// TestSimilarity compares random texts of few and many letters, whose lengths are around the
// multiples of 64, with the reference.
func TestSimilarity(t *testing.T) {
	alphabets := []string{"a", "ab", "abé語", "the quick brown fox jümps 😀\u0301\n"}
	lengths := []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 200}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 2000 {
		letters := []rune(alphabets[n%len(alphabets)])
		text := func() []rune {
			out := make([]rune, lengths[r.IntN(len(lengths))])
			for i := range out {
				out[i] = letters[r.IntN(len(letters))]
			}
			return out
		}
		x := text()
		y := edited(r, x, letters, r.IntN(20))
		if n%2 == 0 {
			y = text()
		}
		checkSimilarity(t, string(x), string(y))
	}
}

func FuzzSimilarity(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Add("", "é")
	f.Add(strings.Repeat("ab", 64), strings.Repeat("ba", 65))
	f.Add("a\xffb", "a\ufffdb")
	f.Fuzz(func(t *testing.T, x, y string) {
		const longest = 1 << 10 // the reference is slow
		checkSimilarity(t, x[:min(len(x), longest)], y[:min(len(y), longest)])
	})
}

// slowF1 is F1 by removing each element of got from want.
func slowF1(got, want []value.Slot) float64 {
	all := len(got) + len(want)
	if all == 0 {
		return 1
	}
	rest, common := slices.Clone(want), 0
	for _, g := range got {
		if i := slices.IndexFunc(rest, func(w value.Slot) bool { return value.Equal(g, w) }); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			common++
		}
	}
	return 2 * float64(common) / float64(all)
}

// TestF1 compares arrays of random elements, of which many are equal, with the reference.
func TestF1(t *testing.T) {
	parse := func(text string) value.Slot {
		v, err := value.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	elements := []string{`1`, `1.0`, `2`, `-0.0`, `0`, `9007199254740992`, `9007199254740993`, `"1"`, `"a"`, `"é"`, `""`, `true`, `false`,
		`null`, `[]`, `[1]`, `[1.0]`, `[[1],"a"]`, `{}`, `{"a":1}`, `{"a":1,"b":null}`}
	r := rand.New(rand.NewPCG(3, 4))
	list := func() []value.Slot {
		out := make([]value.Slot, r.IntN(12))
		for i := range out {
			out[i] = parse(elements[r.IntN(len(elements))])
		}
		return out
	}
	for range 3000 {
		got, want := list(), list()
		a, b := value.ArrayOf(got...), value.ArrayOf(want...)
		before := fmt.Sprintf("%s %s", value.AppendJSON(nil, a), value.AppendJSON(nil, b))
		if f1 := call(t, "eval.f1", a, b).AsFloat(); f1 != slowF1(got, want) {
			t.Errorf("f1(%s) = %v, want %v", before, f1, slowF1(got, want))
		}
		if after := fmt.Sprintf("%s %s", value.AppendJSON(nil, a), value.AppendJSON(nil, b)); after != before {
			t.Errorf("after f1, the arguments are %s, before they were %s", after, before)
		}
	}
}

// TestAgree checks that an Agreement has the origin of its score, and the score's Bool.
func TestAgree(t *testing.T) {
	score := &value.Type{Kind: value.TypeSchema, Name: "Score", Fields: []value.Field{{Name: "value"}, {Name: "why"}}}
	agreement := &value.Type{Kind: value.TypeStruct, Name: "Agreement", Fields: []value.Field{{Name: "judge"}, {Name: "label"}}}
	for _, c := range []struct {
		value float64
		judge bool
	}{{0, false}, {0.49999999999999994, false}, {0.5, true}, {1, true}} {
		plain := score.Struct(value.Float(c.value), value.String(""))
		judged := call(t, "eval.score", plain, value.String("hash"))
		if value.Origin(plain) != "" || value.Origin(judged) != "hash" {
			t.Errorf("the origin of a judge's score is %q; that of the score before: %q", value.Origin(judged), value.Origin(plain))
		}
		for _, label := range []bool{false, true} {
			for s, origin := range map[value.Slot]string{plain: "", judged: "hash"} {
				got := call(t, "eval.agree", s, value.Bool(label), value.NewTypeDesc(agreement))
				if f := got.Fields(); f[0].AsBool() != c.judge || f[1].AsBool() != label || value.Origin(got) != origin {
					t.Errorf("agree(%v, %t) = %v of %q, want %t, %t of %q", c.value, label, f, value.Origin(got), c.judge, label, origin)
				}
			}
		}
	}
}
