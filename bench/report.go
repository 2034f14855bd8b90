package main

import (
	"fmt"
	"os"
	"strings"
)

// report contains all results.
type report struct {
	rounds    int
	page      string // path of the file to which the tables are written; "" for none
	standings []comparison
	readings  []reading
}

// write writes the tables into the page, each between its two marker lines. Rows that were not
// measured stay unchanged.
func (r *report) write() error {
	if r.page == "" {
		return nil
	}
	page, err := os.ReadFile(r.page)
	if err != nil {
		return err
	}
	text := string(page)
	for _, t := range []struct {
		name   string
		table  table
		titles []string
	}{
		{"overview", r.overview(), highlightTitles()}, {"ratios", r.ratios(), titles()}, {"times", r.times(), titles()}, {"measures", r.others(), measureTitles()},
	} {
		start, end := "<!-- "+t.name+" -->\n", "<!-- end of "+t.name+" -->"
		before, rest, ok := strings.Cut(text, start)
		old, after, also := strings.Cut(rest, end)
		if !ok || !also {
			return fmt.Errorf("%s has no lines %q and %q", r.page, start, end)
		}
		text = before + start + t.table.over(old, t.titles) + end + after
	}
	return os.WriteFile(r.page, []byte(text), 0o644)
}

func titles() []string {
	var out []string
	for _, w := range workloads {
		out = append(out, w.title)
	}
	return out
}

func measureTitles() []string {
	var out []string
	for _, m := range measures() {
		out = append(out, m.title)
	}
	return out
}

// ratios returns the table of workloads with their targets.
func (r *report) ratios() table {
	t := table{head: []string{"workload", "Concerto", "of Lua 5.4's time", "of the best Go VM's", "of CPython's", "allocated", "memory"}}
	for _, s := range r.standings {
		mine := s.samples[0]
		cells := []string{s.title, milliseconds(mine.cpu), "", "", "", s.used.per(s.ops, s.op), megabytes(mine.memory)}
		if x, ok := s.of(lua); ok {
			cells[2] = against(mine.cpu/x.cpu, s.lua)
		}
		if x, ok := s.bestGoVM(); ok {
			cells[3] = x.engine + ": " + against(mine.cpu/x.cpu, s.goVM)
		}
		if x, ok := s.of(python); ok {
			cells[4] = against(mine.cpu/x.cpu, s.python)
		}
		t.add(cells...)
	}
	return t
}

// times returns the table of CPU times of all engines.
func (r *report) times() table {
	t := table{head: []string{"CPU time"}}
	for _, e := range engines {
		t.head = append(t.head, e.name)
	}
	for _, s := range r.standings {
		cells := []string{s.title}
		for _, e := range engines {
			cell := ""
			if x, ok := s.of(e.name); ok {
				cell = milliseconds(x.cpu)
			}
			cells = append(cells, cell)
		}
		t.add(cells...)
	}
	return t
}

// others returns the table of the other measures.
func (r *report) others() table {
	t := table{head: []string{"measure", "Concerto", "peer", "ratio", "target"}}
	for _, x := range r.readings {
		cells := []string{x.title, number(x.mine) + " " + x.unit, "", "", x.aim() + mark(x.met())}
		if x.peer != nil {
			cells[2] = fmt.Sprintf("%s: %s %s", x.peers, number(x.other), x.unit)
			cells[3] = fmt.Sprintf("%.2f", x.ratio)
		}
		t.add(cells...)
	}
	return t
}

// table is a Markdown table. The first cell of a row is its title.
type table struct {
	head []string
	rows map[string]string
}

func (t *table) add(cells ...string) {
	if t.rows == nil {
		t.rows = map[string]string{}
	}
	t.rows[cells[0]] = row(cells)
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// over returns the table with a row for each title: the new row if there is one, and otherwise the
// row of the old table.
func (t *table) over(old string, titles []string) string {
	text := row(t.head) + strings.Repeat("| --- ", len(t.head)) + "|\n"
	before := map[string]string{}
	for line := range strings.Lines(old) {
		if cells := strings.SplitN(line, " | ", 2); len(cells) == 2 {
			before[strings.TrimPrefix(cells[0], "| ")] = line
		}
	}
	for _, title := range titles {
		if line, ok := t.rows[title]; ok {
			text += line
		} else {
			text += before[title]
		}
	}
	return text
}

// missed is the mark of a result that misses its target.
const missed = " ✗"

func mark(met bool) string {
	if met {
		return ""
	}
	return missed
}

// against formats a ratio with its target, and marks it if it misses the target.
func against(ratio, target float64) string {
	if target == 0 {
		return fmt.Sprintf("%.2f", ratio)
	}
	return fmt.Sprintf("%.2f (≤ %.2f)%s", ratio, target, mark(ratio <= target))
}

func milliseconds(v float64) string { return number(v) + " ms" }

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/(1<<20)) }

func number(v float64) string {
	if v >= 1000 {
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
