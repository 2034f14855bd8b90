package main

import (
	"fmt"
	"os"
	"strings"
)

// A report is everything that a run has found.
type report struct {
	rounds    int
	standings []standing
	readings  []reading
}

// write puts the tables into a page, each between two lines of its own.
func (r *report) write(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(page)
	for _, t := range []struct{ name, table string }{
		{"ratios", r.ratios()}, {"times", r.times()}, {"measures", r.others()},
	} {
		start, end := "<!-- "+t.name+" -->\n", "<!-- end of "+t.name+" -->"
		before, rest, ok := strings.Cut(text, start)
		_, after, also := strings.Cut(rest, end)
		if !ok || !also {
			return fmt.Errorf("%s has no lines %q and %q", path, start, end)
		}
		text = before + start + t.table + end + after
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// ratios are the workloads with their targets.
func (r *report) ratios() string {
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
	return t.String()
}

// times are the CPU times of all engines.
func (r *report) times() string {
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
	return t.String()
}

// others are the measures besides the workloads.
func (r *report) others() string {
	t := table{head: []string{"measure", "Concerto", "peer", "ratio", "target"}}
	for _, x := range r.readings {
		cells := []string{x.title, number(x.mine) + " " + x.unit, "", "", x.aim() + mark(x.met())}
		if x.peer != nil {
			cells[2] = fmt.Sprintf("%s: %s %s", x.peers, number(x.other), x.unit)
			cells[3] = fmt.Sprintf("%.2f", x.mine/x.other)
		}
		t.add(cells...)
	}
	return t.String()
}

// A table is one of Markdown.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	b.WriteString(strings.Repeat("| --- ", len(t.head)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// missed marks a figure whose target is not reached.
const missed = " ✗"

func mark(met bool) string {
	if met {
		return ""
	}
	return missed
}

// against is a ratio with its target, marked where it is missed.
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
	return fmt.Sprintf("%.3g", v)
}
