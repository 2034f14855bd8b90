package format

import (
	"maps"
	"math/rand"
	"slices"
	"testing"
)

// FuzzFormat: any text is refused or formatted without a panic. The tree stays
// the same, and formatting again changes nothing. noise adds comments and line
// ends between the tokens.
func FuzzFormat(f *testing.F) {
	all := programs(f)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%8 == 0 && len(all[name]) < 3000 { // a choice: the tests run all of them
			f.Add(all[name], int64(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, noise int64) {
		if hold(t, text) && noise != 0 {
			hold(t, noisy(rand.New(rand.NewSource(noise)), text, 5))
		}
	})
}
