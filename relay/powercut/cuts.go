package powercut

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// everySync is after how many syncs the power is cut.
const everySync = 17

// Cuts is a test that cuts the power of a disk again and again, and looks what is left.
type Cuts struct {
	N    int  // cuts until now
	On   bool // the power is cut at syncs, too
	t    *testing.T
	disk *Disk
	look func(dir string) error

	chance *rand.Rand
	syncs  int
}

// Test makes a disk that SQLite knows by a name, and its cuts, whose losses come from a seed. look
// looks at the files of a directory after each, in whichever goroutine is cut.
func Test(t *testing.T, name string, seed uint64, look func(dir string) error) *Cuts {
	c := &Cuts{t: t, look: look, chance: rand.New(rand.NewPCG(seed, seed+1))}
	c.disk = New(name, func() {
		if c.syncs++; c.On && c.syncs%everySync == 0 {
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

// Files are the files of a directory, by their names, as one that was to be left alone is compared.
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
