package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// TestCachedOnFullDisk checks that a program is compiled as usual if its entry cannot be stored.
func TestCachedOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	programs := filepath.Join(dir, "programs")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", programs, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	defer syscall.Unmount(programs, 0)
	write(t, filepath.Join(dir, "main.conc"), []byte(warned+strings.Repeat("// a long text\n", 1000)))
	r := driver.Request{Path: "main.conc", Dir: dir, Programs: programs}
	without := r
	without.Programs = ""
	if want, got := compiledAs(without), compiledAs(r); got != want || isCached(t, r) {
		t.Errorf("cached %t, and the program is:\n%s\nwant:\n%s", isCached(t, r), got, want)
	}
	if left, err := os.ReadDir(programs); err != nil || len(left) > 0 {
		t.Errorf("files remain: %v, error %v", left, err)
	}
}
