package main

import (
	"fmt"
	"math"
	"strings"
)

// highlights lists the workloads and measures of the first table, in its order: what users of
// Concerto wait for, and a program of each kind.
var highlights = []string{
	"start", "check", "questions", "kept-questions", "kept-messages", "asking-cpu", "agents", "resume",
	"fib", "loop", "words", "nbody", "states", "richards", "dijkstra", "counting", "json",
}

// meanTarget is the maximum mean of the programs' CPU time relative to Lua's.
const meanTarget = 0.57

// overall is the title of the row with the mean of all workloads.
const overall = "all programs, geometric mean"

// overview returns the table of the highlights. Its last row is the mean of the ratios to Lua, if
// all workloads were measured.
func (r *report) overview() table {
	t := table{head: []string{"what", "Concerto", "others", "of the first other", "target"}}
	for _, x := range r.readings {
		other, ratio := "", ""
		if x.peer != nil {
			other, ratio = fmt.Sprintf("%s %s %s", x.peers, number(x.other), x.unit), fmt.Sprintf("%.2f", x.ratio)
		}
		t.add(x.title, number(x.mine)+" "+x.unit, other, ratio, x.aim()+mark(x.met()))
	}
	product, against := 1.0, 0
	for _, s := range r.standings {
		mine, others, ratio, aim := s.samples[0].cpu, []string{}, "", ""
		add := func(x sample, target float64) {
			others = append(others, x.engine+" "+milliseconds(x.cpu))
			if ratio == "" {
				ratio = fmt.Sprintf("%.2f", mine/x.cpu)
				if target > 0 {
					aim = fmt.Sprintf("at most %.2f%s", target, mark(mine/x.cpu <= target))
				}
			}
		}
		if x, ok := s.of(lua); ok {
			add(x, s.lua)
			product *= mine / x.cpu
			against++
		}
		if x, ok := s.of(python); ok {
			add(x, s.python)
		}
		if x, ok := s.bestGoVM(); ok {
			add(x, s.goVM)
		}
		t.add(s.title, milliseconds(mine), strings.Join(others, ", "), ratio, aim)
	}
	if len(r.standings) == len(workloads) {
		mean := math.Pow(product, 1/float64(against))
		t.add(overall, "", fmt.Sprintf("%s, %d programs", lua, against), fmt.Sprintf("%.2f", mean), fmt.Sprintf("at most %.2f%s", meanTarget, mark(mean <= meanTarget)))
	}
	return t
}

// highlightTitles returns the titles of the rows of the first table.
func highlightTitles() []string {
	titles := map[string]string{}
	for _, w := range workloads {
		titles[w.name] = w.title
	}
	for _, m := range measures() {
		titles[m.name] = m.title
	}
	var out []string
	for _, name := range highlights {
		out = append(out, titles[name])
	}
	return append(out, overall)
}
