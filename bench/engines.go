package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// engine runs programs of one language.
type engine struct {
	name string
	file string // name of the program's file in a workload's directory; the engine is measured if the file exists
	goVM bool   // the engine is a VM written in Go: it is slow and runs in fewer rounds
	run  func(l *lab, program string) []string
}

// Names of the engines that the tables mention, in the order of the tables. Ratios are relative to
// Lua 5.4.
const (
	ours   = "Concerto"
	lua    = "Lua 5.4"
	python = "CPython"
)

var engines = []engine{
	{name: ours, file: "main.conc", run: func(l *lab, p string) []string { return []string{l.bin("concerto"), "run", p} }},
	{name: lua, file: "main.lua", run: command("lua5.4")},
	{name: python, file: "main.py", run: command("python3")},
	goVM("gopher-lua", "main.lua"),
	goVM("tengo", "main.tengo"),
	goVM("goja", "main.js"),
	goVM("starlark", "main.star"),
}

func command(name string) func(*lab, string) []string {
	return func(_ *lab, program string) []string { return []string{name, program} }
}

func goVM(name, file string) engine {
	return engine{name: name, file: file, goVM: true, run: func(l *lab, program string) []string {
		return []string{l.bin("govms"), name, program}
	}}
}

// entrants returns the engines that have a program for a workload. The Go VMs run only workloads
// with a target relative to them: the other programs use operators of Lua 5.4 that gopher-lua does
// not have.
func (l *lab) entrants(w workload) []engine {
	var out []engine
	for _, e := range engines {
		if e.goVM && w.goVM == 0 {
			continue
		}
		if _, err := os.Stat(l.program(w.name, e.file)); err == nil {
			out = append(out, e)
		}
	}
	return out
}

// program returns the path of a file in a workload's directory.
func (l *lab) program(workload, file string) string {
	return filepath.Join(l.root, "bench", "programs", workload, file)
}

// installed returns an error that names a missing program on this machine, or nil.
func installed() error {
	for name, pkg := range map[string]string{"lua5.4": "lua5.4", "python3": "python3"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is not installed (Debian: apt-get install %s)", name, pkg)
		}
	}
	return nil
}
