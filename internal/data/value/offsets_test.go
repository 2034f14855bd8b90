package value

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

// scripts maps names of scripts to sample texts. Together they contain characters of all lengths in
// UTF-8.
var scripts = map[string]string{
	"latin": "Grüße, wörtlich: „ja“ — it’s ", "greek": "καλημέρα κόσμε ", "chinese": "你好世界，再见", "emoji": "👋🏽a👩‍👩‍👧 ",
	"rare": strings.Repeat("a", 100) + "é", "combining": "e\u0301a\u0308o\u0302",
}

// long returns a text of n characters.
func long(script string, n int) string {
	s := strings.Repeat(scripts[script], n/utf8.RuneCountInString(scripts[script])+1)
	return string([]rune(s)[:n])
}

// TestOffsets checks that At and Slice return the same characters as a conversion to []rune.
func TestOffsets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for script := range scripts {
		for _, n := range []int{1, 63, 64, 65, 128, 1000, 5000} {
			text := long(script, n)
			runes := []rune(text)
			var o Offsets
			x := String(text).Str()
			for range 300 {
				lo := rng.IntN(n + 1)
				hi := lo + rng.IntN(n-lo+1)
				if s, ok := o.Slice(x, int64(lo), int64(hi), nil); !ok || s.AsString() != string(runes[lo:hi]) {
					t.Fatalf("%s: Slice(%d, %d) of %d characters = %q", script, lo, hi, n, s.AsString())
				}
				if s, ok := o.At(x, int64(lo), nil); ok != (lo < n) || ok && s.AsString() != string(runes[lo]) {
					t.Fatalf("%s: character %d of %d = %q", script, lo, n, Text(s))
				}
			}
			for i := range n {
				if s, _ := o.At(x, int64(i), nil); s.AsString() != string(runes[i]) {
					t.Fatalf("%s: character %d of %d = %q", script, i, n, s.AsString())
				}
			}
			for _, bad := range [][2]int64{{-1, 0}, {1, 0}, {0, int64(n) + 1}} {
				if _, ok := o.Slice(x, bad[0], bad[1], nil); ok {
					t.Errorf("the range %v is valid for a text of %d characters", bad, n)
				}
			}
		}
	}
}

// walks returns the number of characters that o visits while f runs.
func walks(o *Offsets, f func()) int {
	before := o.walked
	f()
	return o.walked - before
}

// TestOffsetsAreQuick checks that finding a character does not take longer in a longer text: for
// several orders of accesses, for two alternating texts, and for a text that grows.
func TestOffsetsAreQuick(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for script := range scripts {
		for _, n := range []int{1 << 10, 1 << 16} {
			var o Offsets
			x, y := String(long(script, n)).Str(), String(long(script, n)+"!").Str()
			each := func(order func(i int) int) {
				t.Helper()
				work := walks(&o, func() {
					for i := range n {
						o.At(x, int64(order(i)), nil)
						o.At(y, int64(order(i)), nil)
					}
				})
				if work > 2*n*(chartEach/2+4) {
					t.Errorf("%s: visited %d characters for %d accesses", script, work, 2*n)
				}
			}
			each(func(i int) int { return i })
			if repeated := walks(&o, func() { each(func(i int) int { return i }) }); repeated > 2*n {
				t.Errorf("%s: sequential access visited %d characters, want at most %d", script, repeated, 2*n)
			}
			each(func(i int) int { return n - 1 - i })
			each(func(int) int { return rng.IntN(n) })
		}
	}
	var o Offsets
	s := String(long("greek", 1000)).Str()
	work := walks(&o, func() {
		for range 10_000 {
			grown, _ := s.Append("ω")
			s = grown.Str()
			o.At(s, int64(s.Len()-1), nil)
		}
	})
	if work > 10_000*(chartEach+2) {
		t.Errorf("visited %d characters for 10,000 appends", work)
	}
}

// TestOffsetsReleaseTexts checks that a text which is no longer used can be freed.
func TestOffsetsReleaseTexts(t *testing.T) {
	var o Offsets
	released := make(chan bool, 1)
	func() {
		text := []byte(long("greek", 1000))
		runtime.AddCleanup(&text[0], func(c chan bool) { c <- true }, released)
		x := String(unsafe.String(&text[0], len(text))).Str()
		o.At(x, 500, nil)
	}()
	other := String(long("chinese", 500)).Str()
	for {
		runtime.GC() // the cleanup runs some time after the collection
		o.At(other, 1, nil)
		select {
		case <-released:
			return
		default:
			runtime.Gosched()
		}
	}
}
