package format

import (
	"maps"
	"math/rand"
	"slices"
	"testing"
)

// FuzzFormat formats any text without a panic. The tree must not change, and formatting the result
// must change nothing. noise adds comments and line ends between the tokens.
func FuzzFormat(f *testing.F) {
	all := programs(f)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%8 == 0 && len(all[name]) < 3000 { // a selection of the programs, because the tests use all of them
			f.Add(all[name], int64(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, noise int64) {
		if hold(t, text) && noise != 0 {
			hold(t, noisy(rand.New(rand.NewSource(noise)), text, 5))
		}
	})
}
