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

// Cuts repeatedly cuts the power of a disk in a test, and checks the remaining files.
type Cuts struct {
	N    int  // number of power cuts so far
	On   bool // whether the power is also cut at syncs
	t    *testing.T
	disk *Disk
	look func(dir string) error

	chance *rand.Rand
	syncs  int
}

// Test creates a disk and registers it as an SQLite VFS with the given name. seed determines which
// data is lost. After each power cut, look is called with a directory of the remaining files, on
// the goroutine that caused the cut.
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
		c.t.Errorf("check after power cut %d: %v", c.N, err)
	}
}

func (c *Cuts) cut() error {
	dir := c.t.TempDir()
	if err := c.disk.Cut(dir, c.chance); err != nil {
		return fmt.Errorf("cut the power: %w", err)
	}
	return c.look(dir)
}

// Files returns the contents of the files in a directory by name. Tests use it to compare
// directories.
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
