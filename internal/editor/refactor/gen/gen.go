// Command gen writes the descriptions of the code actions into a chapter of the manual. It reads
// them from the archives of the actions' tests.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/editor/refactor"
	"github.com/concerto-lang/concerto/stdlib"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: gen ARCHIVES CHAPTER")
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func write(archives, chapter string) error {
	text, err := os.ReadFile(chapter)
	if err != nil {
		return err
	}
	part := stdlib.Part{Name: "code actions"}
	for _, r := range refactor.Table {
		shown, err := show(archives, r)
		if err != nil {
			return err
		}
		part.Text += shown
	}
	out, ok := part.In(string(text))
	if !ok {
		return fmt.Errorf("%s has no place for its %s", chapter, part.Name)
	}
	return os.WriteFile(chapter, []byte(out), 0o666)
}

// show returns the manual's text on an action: the comment of its archive, and the difference
// between the archive's first before and after.
func show(archives string, r refactor.Row) (string, error) {
	name := filepath.Join(archives, r.Name+".txtar")
	a, err := txtar.ParseFile(name)
	if err != nil {
		return "", err
	}
	texts := map[string][]byte{}
	for _, f := range a.Files {
		texts[f.Name] = f.Data
	}
	before, after := texts["before"], texts["after"]
	if before == nil || after == nil {
		return "", errors.New(name + " has no sections before and after")
	}
	plain := strings.NewReplacer("⟨", "", "⟩", "").Replace(string(before))
	diff := string(repair.Diff("x", []byte(plain), after))
	_, lines, _ := strings.Cut(diff, "@@\n")
	return fmt.Sprintf("### %s\n\n`%s`, offered for %s.\n\n%s\n```diff\n%s```\n\n", r.Title, r.Kind, r.Where, a.Comment, lines), nil
}
