// Package scoring implements the scorers of std::eval (spec/49-eval.md). Its API has no
// compatibility promise.
package scoring

import (
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Natives are the functions of std::eval, except those that concern agents.
var Natives = native.Table{
	{"eval.same_text", func(a *vm.Args) (value.Slot, error) {
		got, want := a.String(0), a.String(1)
		a.Pace().Bytes(len(got) + len(want))
		return value.Bool(lettersOf(got) == lettersOf(want)), nil
	}},
	{"eval.similarity", evalSimilarity},
	{"eval.f1", evalF1},
	{"eval.score", func(a *vm.Args) (value.Slot, error) {
		return value.WithOrigin(a.Slot(0), value.String(a.String(1))), nil
	}},
	{"eval.agree", func(a *vm.Args) (value.Slot, error) {
		score := a.Slot(0)
		v := a.Type(2).Struct(value.Bool(native.Member(score, "value").AsFloat() >= 0.5), value.Bool(a.Bool(1)))
		if hash := value.Origin(score); hash != "" {
			v = value.WithOrigin(v, value.String(hash))
		}
		return v, nil
	}},
}

// lettersOf returns the letters, digits and symbols of a text in lower case, without white space,
// punctuation and control characters.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsControl(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// evalSimilarity returns 1 − the Levenshtein distance of two texts / the length of the longer one.
func evalSimilarity(a *vm.Args) (value.Slot, error) {
	x, y := []rune(a.String(0)), []rune(a.String(1))
	if len(x) < len(y) {
		x, y = y, x
	}
	if len(x) == 0 {
		return value.Float(1), nil
	}
	return value.Float(1 - float64(editDistance(x, y, a.Step))/float64(len(x))), nil
}

// editDistance returns the Levenshtein distance of two texts, with the bit-parallel algorithm of
// Myers (JACM 46(3), 1999) on blocks of 64 characters (Hyyrö 2003). step counts the work.
func editDistance(x, y []rune, step func(int)) int {
	if len(y) == 0 {
		return len(x)
	}
	words := (len(y) + 63) / 64
	matches := map[rune][]uint64{} // for each character, the positions in y
	for i, r := range y {
		m := matches[r]
		if m == nil {
			m = make([]uint64, words)
			matches[r] = m
		}
		m[i/64] |= 1 << (i % 64)
	}
	none := make([]uint64, words)
	plus, minus := make([]uint64, words), make([]uint64, words) // vertical differences +1 and −1
	for i := range plus {
		plus[i] = ^uint64(0)
	}
	distance := len(y)
	last := uint64(1) << ((len(y) - 1) % 64)
	for _, r := range x {
		step(words)
		m := matches[r]
		if m == nil {
			m = none
		}
		carryPlus, carryMinus := uint64(1), uint64(0) // horizontal difference above the block
		for w := range words {
			eq, pv, mv := m[w], plus[w], minus[w]
			xv := eq | mv
			eq |= carryMinus
			xh := (((eq & pv) + pv) ^ pv) | eq
			ph, mh := mv|^(xh|pv), pv&xh
			if w == words-1 {
				if ph&last != 0 {
					distance++
				} else if mh&last != 0 {
					distance--
				}
			}
			ph, carryPlus = ph<<1|carryPlus, ph>>63
			mh, carryMinus = mh<<1|carryMinus, mh>>63
			plus[w], minus[w] = mh|^(xv|ph), ph&xv
		}
	}
	return distance
}

// evalF1 returns the F1 score of two arrays as multisets.
func evalF1(a *vm.Args) (value.Slot, error) {
	got, want := a.Array(0), a.Array(1)
	if got.Len+want.Len == 0 {
		return value.Float(1), nil
	}
	rest := map[any][]value.Slot{} // elements of want that are not paired, by group
	for i := range want.Len {
		a.Step(1)
		v := want.At(i)
		rest[groupOf(v)] = append(rest[groupOf(v)], v)
	}
	common := 0
	for i := range got.Len {
		a.Step(1)
		v := got.At(i)
		group := groupOf(v)
		same := rest[group]
		for j := range same {
			if value.EqualIn(a.Pace(), v, same[j]) {
				common++
				same[j] = same[len(same)-1]
				rest[group] = same[:len(same)-1]
				break
			}
		}
	}
	return value.Float(2 * float64(common) / float64(got.Len+want.Len)), nil
}

// groupOf returns a key that equal values share.
func groupOf(v value.Slot) any {
	v = value.Flatten(v)
	if v.Kind() == value.KindString {
		return v.AsString()
	}
	if n, ok := v.Number(); ok {
		return n
	}
	return v.Kind()
}
