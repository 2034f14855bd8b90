// Package scoring implements the scorers of std::eval (spec/49-eval.md).
package scoring

import (
	"slices"
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
		return value.Bool(strings.EqualFold(lettersOf(got), lettersOf(want))), nil
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
// punctuation and control characters. Letters with several lower cases, such as σ and ς, differ.
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
	got, want := a.String(0), a.String(1)
	a.Room(4 * (value.CountIn(a.Pace(), got) + value.CountIn(a.Pace(), want)))
	x, y := []rune(got), []rune(want)
	if len(x) < len(y) {
		x, y = y, x
	}
	if len(x) == 0 {
		return value.Float(1), nil
	}
	return value.Float(1 - float64(editDistance(x, y, a.Step))/float64(len(x))), nil
}

// editDistance returns the Levenshtein distance of two texts, with the bit-parallel algorithm of
// Myers (JACM 46(3), 1999) on blocks of 64 characters of y (Hyyrö 2003). It completes a block for
// all of x before the next one, so that it needs no more memory than the texts. step counts the
// work.
func editDistance(x, y []rune, step func(int)) int {
	numbers := map[rune]int32{} // of the characters of y, from 1
	for _, r := range y {
		if numbers[r] == 0 {
			numbers[r] = int32(len(numbers) + 1)
		}
	}
	word := make([]int32, len(x)) // x as numbers; 0 is a character that y does not have
	above := make([]int8, len(x)) // differences of neighbours in the row above the block
	for i, r := range x {
		word[i], above[i] = numbers[r], 1
	}
	matches := make([]uint64, len(numbers)+1) // positions of each character in the block
	for block := range slices.Chunk(y, 64) {
		step(len(x))
		for i, r := range block {
			matches[numbers[r]] |= 1 << i
		}
		last := len(block) - 1
		plus, minus := ^uint64(0), uint64(0) // vertical differences +1 and −1
		for i, n := range word {
			eq := matches[n]
			var higher, lower uint64
			switch above[i] {
			case 1:
				higher = 1
			case -1:
				lower = 1
			}
			xv := eq | minus
			eq |= lower
			xh := (((eq & plus) + plus) ^ plus) | eq
			ph, mh := minus|^(xh|plus), plus&xh
			above[i] = int8(ph>>last&1) - int8(mh>>last&1)
			ph, mh = ph<<1|higher, mh<<1|lower
			plus, minus = mh|^(xv|ph), ph&xv
		}
		for _, r := range block {
			matches[numbers[r]] = 0
		}
	}
	distance := len(y)
	for _, d := range above {
		distance += int(d)
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
