package release

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk checks that a release is refused if there is no space for it.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	defer syscall.Unmount(dir, 0)
	err := Make(context.Background(), Options{Root: repositoryIn(t), Out: filepath.Join(dir, "a", "release"), Targets: "linux/amd64"})
	if _, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(err.Error(), "1 MB of free space: this release requires 90 MB there") {
		t.Errorf("error = %v", err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "a")); err != nil || len(entries) > 0 {
		t.Errorf("files = %v, error %v", entries, err)
	}
}
