package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/agents"
)

// comparison plays all scenarios with the installed agents, and compares the results with the
// stored ones.
type comparison struct {
	latest, accept bool
	results        string // directory of the stored results
}

func (c *comparison) run(bin string, only []string) error {
	return eachAgent(bin, c.latest, only, func(o *agents.Options) error {
		report, err := o.Conform(context.Background(), nil, func(r agents.Result) {
			fmt.Fprintln(os.Stderr, o.Agent.Name+": "+r.Text())
		})
		if err != nil {
			return fmt.Errorf("%s: %w", o.Agent.Name, err)
		}
		file := filepath.Join(c.results, o.Agent.Name+".json")
		var stored agents.Report
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &stored)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Print(differences(o.Agent.Title, &stored, report))
		if !c.accept {
			return nil
		}
		if text, err = json.MarshalIndent(report, "", "  "); err != nil {
			return err
		}
		return os.WriteFile(file, append(text, '\n'), 0o644)
	})
}

// differences describes as Markdown how the results of an agent differ from the stored ones.
func differences(title string, stored, now *agents.Report) string {
	var b strings.Builder
	before := stored.Version
	if before == "" {
		before = "none"
	}
	fmt.Fprintf(&b, "## %s %s (stored: %s)\n\n", title, now.Version, before)
	n := b.Len()
	line := func(name, was, is string) {
		if was != is {
			fmt.Fprintf(&b, "- `%s`: %s, before: %s\n", name, is, was)
		}
	}
	show := func(all *agents.Report, name string) string {
		for _, r := range all.Scenarios {
			if r.Name == name {
				return strings.TrimPrefix(r.Text(), name+" ")
			}
		}
		return "not played"
	}
	for _, s := range agents.Scenarios() {
		line(s.Name, show(stored, s.Name), show(now, s.Name))
	}
	if now.Coverage != nil {
		for _, m := range now.Coverage.Missing {
			fmt.Fprintf(&b, "- %s is not in coverage.go\n", m)
		}
	}
	if b.Len() == n {
		b.WriteString("No differences.\n")
	}
	b.WriteString("\n")
	return b.String()
}
