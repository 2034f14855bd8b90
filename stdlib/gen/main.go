// Command gen writes the reference of the library: one page for each part, into the directory in
// its argument, from which it removes other pages. It also writes the tables of messages into the
// chapters next to that directory. With -index, it writes the index of the library's files, and
// their syntax trees into the directory parts.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/stdlib"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "-index":
		err = writeIndex(os.Args[2])
	case len(os.Args) == 2:
		err = write(os.Args[1])
	default:
		log.Fatal("usage: gen DIRECTORY, or gen -index FILE")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func writeIndex(name string) error {
	text, err := stdlib.Index()
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		return err
	}
	parts, err := stdlib.EncodedParts()
	if err != nil {
		return err
	}
	if err := os.RemoveAll("parts"); err != nil {
		return err
	}
	if err := os.Mkdir("parts", 0o777); err != nil {
		return err
	}
	for name, text := range parts {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return err
	}
	for _, p := range stdlib.Pages() {
		path := filepath.Join(dir, p.Name+".md")
		if err := os.WriteFile(path, []byte(p.Markdown()), 0o666); err != nil {
			return err
		}
		old = slices.DeleteFunc(old, func(o string) bool { return o == path })
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, p := range stdlib.Parts() {
		if err := insert(p, filepath.Join(dir, "..", p.Chapter)); err != nil {
			return err
		}
	}
	return nil
}

// insert updates a table in a chapter.
func insert(p stdlib.Part, chapter string) error {
	old, err := os.ReadFile(chapter)
	if err != nil {
		return err
	}
	text, ok := p.In(string(old))
	if !ok {
		return fmt.Errorf("%s has no marker lines for the %s", chapter, p.Name)
	}
	return os.WriteFile(chapter, []byte(text), 0o666)
}
