package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/process/cputime"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// parseRate measures only the parser, in this process and on one processor.
func parseRate(lines int) func(*lab) (float64, error) {
	return func(*lab) (float64, error) {
		text := []byte(generate(lines))
		n := float64(strings.Count(string(text), "\n"))
		ms, err := best(5, func() (float64, error) {
			start := time.Now()
			_, list := parser.Parse(source.NewFile("bench.conc", text))
			if list.HasErrors() {
				return 0, fmt.Errorf("the generated program does not parse: %s", list.Sorted()[0].Message)
			}
			return milli(time.Since(start)), nil
		})
		return n / ms * 1000, err
	}
}

// compileTime compiles a generated program in this process on one processor, with the given
// optimisation passes. It returns the CPU time of the fastest run in milliseconds. The settings of
// the garbage collector are those of the command, and each run starts with an empty heap.
func compileTime(lines, runs int, passes optimize.Set) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	text := []byte(generate(lines))
	cfg := sema.Config{Name: "bench", Library: stdlib.Library(), Manifest: &sema.Manifest{
		Connections: map[string]sema.ManifestConnection{"demo": {Scripted: true}},
		Hosts:       map[string]sema.ManifestHost{"worker": {}},
	}}
	return best(runs, func() (float64, error) {
		runtime.GC()
		start := milli(cputime.Used())
		file, list := parser.Parse(source.NewFile("bench.conc", text))
		program, found := sema.Check(cfg, file)
		list.Append(found)
		if list.HasErrors() {
			return 0, fmt.Errorf("the generated program does not compile: %s", list.Sorted()[0].Message)
		}
		code, _ := codegen.Generate(program, codegen.ManifestData{})
		if passes != optimize.None { // with optimisations, the measurement includes all work at the start of a run
			optimize.Program(code, passes)
			if err := ir.Verify(code); err != nil {
				return 0, err
			}
		}
		return milli(cputime.Used()) - start, nil
	})
}

func compileRate(lines int, passes optimize.Set) func(*lab) (float64, error) {
	return func(*lab) (float64, error) {
		ms, err := compileTime(lines, 5, passes)
		return float64(lines) / ms * 1000, err
	}
}

// compileGrowth measures the ratio between the compile times of a program with ten times as many
// lines and of one with lines.
func compileGrowth(lines int) func(*lab) (float64, error) {
	return func(*lab) (float64, error) {
		large, err := compileTime(10*lines, 3, optimize.None)
		if err != nil {
			return 0, err
		}
		small, err := compileTime(lines, 3, optimize.None)
		return large / small, err
	}
}

// checkFile measures the time of a process that runs `concerto check` for a generated program.
func checkFile(lines int) func(*lab) (float64, error) {
	return func(l *lab) (float64, error) {
		dir := l.bin("project-check")
		files := map[string]string{"Concerto.toml": generatedManifest, "main.conc": generate(lines)}
		if err := writeProject(dir, files); err != nil {
			return 0, err
		}
		return best(10, func() (float64, error) {
			p, err := l.process(dir, l.bin("concerto"), "check")
			return p.wall, err
		})
	}
}

// drawing measures the drawing of a graph with nodes nodes, with the check of the same program as
// the peer. most is the target in milliseconds, or 0.
func drawing(name string, nodes int, most float64) measure {
	run := func(args ...string) func(*lab) (float64, error) {
		return func(l *lab) (float64, error) {
			dir := l.bin("project-" + name)
			if err := writeProject(dir, map[string]string{"main.conc": generateCalls(nodes)}); err != nil {
				return 0, err
			}
			return best(3, func() (float64, error) {
				p, err := l.process(dir, append(append([]string{l.bin("concerto")}, args...), "main.conc")...)
				return p.wall, err
			})
		}
	}
	return measure{name: name, title: fmt.Sprintf("draw the graph of a program with %d nodes, with process start", nodes), unit: "ms",
		ours: run("graph", "-o", "graph.svg"), peer: run("check"), peers: "check of the program", fixed: most}
}

// writeProject writes the files of a project.
func writeProject(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
