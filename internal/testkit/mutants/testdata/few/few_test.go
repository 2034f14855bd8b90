package few

import (
	"os"
	"testing"
)

func TestFew(t *testing.T) {
	if Sum(3) != 6 || Sum(0) != 0 {
		t.Error("Sum")
	}
	if !Larger(2, 1) || Larger(1, 2) {
		t.Error("Larger")
	}
	if i, err := Find([]string{"a", "b"}, "b"); i != 1 || err != nil {
		t.Error("Find")
	}
	Log("x")
	if Spin(1) != 1 {
		t.Error("Spin")
	}
	if Sure(true) != 1 {
		t.Error("Sure")
	}
}

// TestWhole fails in a build with mutants even if none is active, like a test that counts
// allocations.
func TestWhole(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		if os.Getenv("MUTANT_REACHED") != "" {
			t.Error("the source of the package has changed")
		}
	})
}
