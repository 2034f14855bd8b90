package tests

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
)

// listedTest is a test as `concerto test --list --format json` prints it.
type listedTest struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// listTests lists the selected tests and their places, one per line or as a JSON array.
func listTests(a *console.Console, all []engine.Test, selected func(engine.Test) bool, asJSON bool) error {
	list := []listedTest{}
	for _, t := range all {
		if selected == nil || selected(t) {
			list = append(list, listedTest{t.Name, t.File, t.Line, t.Function})
		}
	}
	if asJSON {
		return a.WriteJSON(list)
	}
	for _, t := range list {
		if _, err := fmt.Fprintf(a.Stdout, "%s:%d: %s\n", t.File, t.Line, t.Name); err != nil {
			return err
		}
	}
	return nil
}
