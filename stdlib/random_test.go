package stdlib

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

func TestRandom(t *testing.T) {
	run(t, []call{
		{"random.__float", `[0]`, `0.0`, ""},
		{"random.__float", `[-1]`, `0.9999999999999999`, ""},
		{"random.__within", `[0, 5, 5]`, `5`, ""},
		{"random.__within", `[-1, 5, 5]`, `5`, ""},
		{"random.__within", `[-1, -3, 3]`, `3`, ""},
		{"random.__within", `[0, -3, 3]`, `null`, ""}, // would favour -3
		{"random.__within", `[7, -9223372036854775808, 9223372036854775807]`, `-9223372036854775801`, ""},
		{"random.__within", `[-1, 0, 9223372036854775807]`, `9223372036854775807`, ""},
		{"random.__within", `[0, 2, 1]`, `fault: int: the minimum 2 is greater than the maximum 1`, ""},
		{"random.__uuid", `[0, 0]`, `"00000000-0000-4000-8000-000000000000"`, ""},
		{"random.__uuid", `[-1, -1]`, `"ffffffff-ffff-4fff-bfff-ffffffffffff"`, ""},
		{"random.__shuffle", `[[], 1]`, `[]`, ""},
		{"random.__shuffle", `[["x"], 1]`, `["x"]`, ""},
	})
}

// TestRandomIntIsUniform checks that all numbers have the same probability, even if the size of the
// range does not divide 2^64.
func TestRandomIntIsUniform(t *testing.T) {
	randtest.InOneGoroutine(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []uint64{1, 2, 3, 7, 10} {
		counts := make([]float64, n)
		const draws = 200_000
		for range draws {
			if v, ok := within(r.Uint64(), n); ok {
				counts[v]++
			}
		}
		for v, c := range counts {
			if want := draws / float64(n); math.Abs(c-want) > 6*math.Sqrt(want) {
				t.Errorf("number %d of %d was returned %.0f times, want about %.0f", v, n, c, want)
			}
		}
	}
	// for a range of three quarters of 2^64, within must reject a quarter of the values
	refused := 0
	for range 100_000 {
		if _, ok := within(r.Uint64(), 3<<62); !ok {
			refused++
		}
	}
	if refused < 24_000 || refused > 26_000 {
		t.Errorf("within rejected %d of 100,000 values, want about 25,000", refused)
	}
}

// TestShuffleIsFair checks that all orders of three elements have the same probability, and that
// shuffling preserves the elements.
func TestShuffleIsFair(t *testing.T) {
	randtest.InOneGoroutine(t)
	counts := map[string]int{}
	const draws = 60_000
	for i := range draws {
		window := []value.Slot{value.IntArray([]int64{1, 2, 3}), value.Int(int64(i))}
		got, err := natives["random.__shuffle"].Invoke("random.__shuffle", window)
		if err != nil {
			t.Fatal(err)
		}
		counts[value.Text(got)]++
		before := slices.Clone(got.Array().Ints())
		slices.Sort(before)
		if !slices.Equal(before, []int64{1, 2, 3}) {
			t.Fatal(before)
		}
	}
	for order, n := range counts {
		if len(counts) != 6 || n < 9_500 || n > 10_500 {
			t.Errorf("order %s occurred %d times, want about 10,000", order, n)
		}
	}
}
