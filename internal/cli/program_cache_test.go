package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestProgramCacheAtOnce runs four programs in many processes that share a cache. Each prints what
// its own program prints, and each program has one entry.
func TestProgramCacheAtOnce(t *testing.T) {
	t.Parallel()
	count := 24
	if randtest.Night() {
		count = 100
	}
	dir := t.TempDir()
	for i := range 4 {
		name := filepath.Join(dir, fmt.Sprintf("p%d", i), "main.conc")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "fn main() { println(%d); }\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			c := command(filepath.Join(dir, fmt.Sprintf("p%d", i%4)), "run", "main.conc")
			c.Env = append(c.Environ(), "CONCERTO_CACHE="+filepath.Join(dir, "cache"))
			if out, err := c.CombinedOutput(); err != nil || string(out) != fmt.Sprintln(i%4) {
				t.Errorf("process %d prints %q, error %v", i, out, err)
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(filepath.Join(dir, "cache", "programs"))
	if err != nil || len(entries) != 4 {
		t.Errorf("%d entries, want 4; error %v", len(entries), err)
	}
}
