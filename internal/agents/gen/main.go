// Command gen writes the table of tested agents into the chapter of the manual in its first
// argument, from the stored results in the directory of its second argument.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/agents"
	"github.com/concerto-lang/concerto/stdlib"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: gen CHAPTER DIR")
	}
	old, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	text, err := update(string(old), os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
}

// update returns the chapter with the table of the results in dir.
func update(chapter, dir string) (string, error) {
	var columns []column
	for _, a := range agents.Table() {
		text, err := os.ReadFile(filepath.Join(dir, a.Name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // no results are stored of the agent
		}
		c := column{title: a.Title}
		if err = errors.Join(err, json.Unmarshal(text, &c.Report)); err != nil {
			return "", fmt.Errorf("results of %s: %w", a.Name, err)
		}
		columns = append(columns, c)
	}
	text, ok := stdlib.Part{Name: "tested agents", Text: table(columns)}.In(chapter)
	if !ok {
		return "", errors.New("the chapter has no lines for the table")
	}
	return text, nil
}

// column is the results of an agent.
type column struct {
	agents.Report
	title string
}

func table(columns []column) string {
	var b strings.Builder
	row := func(first string, cell func(c *column) string) {
		b.WriteString(strings.TrimRight("| "+first, " ") + " |")
		for i := range columns {
			b.WriteString(" " + cell(&columns[i]) + " |")
		}
		b.WriteString("\n")
	}
	row("", func(c *column) string { return c.title + " " + c.Version })
	row("---", func(*column) string { return "---" })
	row("tested on", func(c *column) string { return c.Date })
	for _, s := range agents.Scenarios() {
		row("`"+s.Name+"`: "+s.What, func(c *column) string { return c.cell(s.Name) })
	}
	return b.String()
}

// cell returns the result of a scenario, with its detail.
func (c *column) cell(scenario string) string {
	for _, r := range c.Scenarios {
		switch {
		case r.Name != scenario:
		case r.Got == "":
			return r.Result
		case r.Result == agents.NotOffered:
			return r.Got
		default:
			return r.Result + ": " + strings.ReplaceAll(r.Got, "|", "\\|")
		}
	}
	return "not tried"
}
