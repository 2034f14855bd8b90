package powercut

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// syncsPerCut is the number of syncs between two cuts.
const syncsPerCut = 17

// Cuts cuts the power of a disk repeatedly in a test and checks what remains.
type Cuts struct {
	N    int  // number of cuts so far
	On   bool // also cut at syncs
	t    *testing.T
	disk *Disk
	look func(dir string) error

	chance *rand.Rand
	syncs  int
}

// Test creates a disk, registered as a SQLite VFS under this name, whose losses depend on a seed.
// After each cut, it calls look with a directory of the remaining files, on the goroutine that
// caused the cut.
func Test(t *testing.T, name string, seed uint64, look func(dir string) error) *Cuts {
	c := &Cuts{t: t, look: look, chance: rand.New(rand.NewPCG(seed, seed+1))}
	c.disk = New(name, func() {
		if c.syncs++; c.On && c.syncs%syncsPerCut == 0 {
			c.Cut()
		}
	})
	return c
}

// Cut cuts the power now.
func (c *Cuts) Cut() {
	c.N++
	if err := c.cut(); err != nil {
		c.t.Errorf("cut %d: %v", c.N, err)
	}
}

func (c *Cuts) cut() error {
	dir := c.t.TempDir()
	if err := c.disk.Cut(dir, c.chance); err != nil {
		return fmt.Errorf("cut the power: %w", err)
	}
	return c.look(dir)
}

// Files returns the contents of a directory's files by name, for comparison.
func Files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}
