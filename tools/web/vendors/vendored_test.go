package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/tools/web/build"
)

// TestVendoredFilesAreAsPublished compares the hash of each file with the one in source.json. It
// also reports files that no source.json lists.
func TestVendoredFilesAreAsPublished(t *testing.T) {
	root := os.DirFS(filepath.Join("..", "..", ".."))
	dirs, err := fs.Glob(root, "web/vendor/*")
	if err != nil || len(dirs) < 4 {
		t.Fatalf("number of vendored packages = %d, error %v", len(dirs), err)
	}
	for _, dir := range append(dirs, "tools/browser/axe") {
		s, err := build.ReadSource(root, path.Join(dir, build.SourceFile))
		if err != nil {
			t.Error(err)
			continue
		}
		listed := map[string]bool{build.SourceFile: true}
		for _, f := range s.Files {
			listed[f.Name] = true
			data, err := fs.ReadFile(root, path.Join(dir, f.Name))
			if err != nil {
				t.Error(err)
			} else if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != f.SHA256 {
				t.Errorf("%s/%s differs from the file of %s@%s: hash %s", dir, f.Name, s.Package, s.Version, sum)
			}
		}
		if !listed["LICENSE"] || s.Licence == "" {
			t.Errorf("%s has no licence", dir)
		}
		entries, err := fs.ReadDir(root, dir)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if !listed[e.Name()] && path.Ext(e.Name()) != ".go" {
				t.Errorf("%s/%s is not listed in source.json", dir, e.Name())
			}
		}
	}
}
