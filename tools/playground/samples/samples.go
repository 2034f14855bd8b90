// Package samples reads the programs that the playground offers: the examples of the repository and
// the samples of the manual. The compatibility promise does not cover its API.
package samples

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/playground/world"
)

// Sample is a program with its files.
type Sample struct {
	Name  string            `json:"name"`  // unique
	Title string            `json:"title"` // name in the list
	Group string            `json:"group"`
	Files map[string]string `json:"files"`
	Open  string            `json:"open"` // the file that is shown first
	// Output is the output that the documentation shows, or nil.
	Output *string `json:"-"`
}

// first is the example that the page shows at first.
const first = "hello"

// maxSize is the maximum size of an example's files in bytes, so that its link is short.
const maxSize = 24 << 10

// Read returns the examples and the samples of the manual of the repository in root.
func Read(root string) ([]Sample, error) {
	all, err := readExamples(root)
	if err != nil {
		return nil, err
	}
	manual, err := readManual(root)
	return append(all, manual...), err
}

// readExamples returns the examples that have a main.conc and run without packages, which a page
// cannot fetch. The first one is first.
func readExamples(root string) ([]Sample, error) {
	mains, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.conc"))
	if err != nil {
		return nil, err
	}
	all := []Sample{{Name: first, Title: "hello", Group: "Examples", Open: "main.conc", Files: map[string]string{"main.conc": "fn main() {\n    println(\"hello\");\n}\n"}}}
	for _, file := range mains {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		files, err := textsOf(dir)
		if err != nil {
			return nil, err
		}
		if files == nil || world.HasDependencies(files["Concerto.toml"]) {
			continue
		}
		x := Sample{Name: name, Title: name, Group: "Examples", Open: "main.conc", Files: files}
		if name == first {
			all[0] = x
		} else {
			all = append(all, x)
		}
	}
	return all, nil
}

// kept are the extensions of the files that an example needs in a page.
var kept = []string{".conc", ".toml", ".host", ".json", ".txt", ".md", ".csv", ".ndjson", ".yaml", ".yml", ".tape"}

// textsOf returns the files of a directory that are texts, or nil if they are too large.
func textsOf(dir string) (map[string]string, error) {
	out := map[string]string{}
	size := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains(kept, path.Ext(name)) || strings.EqualFold(path.Base(name), "README.md") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !utf8.Valid(text) {
			return err
		}
		size += len(text)
		out[name] = string(text)
		return nil
	})
	if err != nil || size > maxSize {
		return nil, err
	}
	return out, nil
}
