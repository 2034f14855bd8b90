package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/stdlib"
)

// measures is the table of everything measured.
func measures() []measure {
	return []measure{
		versusLua("fib(32)", "fib", 0.8),
		versusLua("integer loop, 30M", "loop", 0.8),
		{name: "1M push with a peek each turn, times 100k's time", unit: "×", ours: growth("push.conc", "1000000", "100000"), fixed: 12},
		{name: "compile 20k lines: parse, check, generate", unit: "lines/s", rate: true, ours: compileRate(20_000), fixed: 100_000},
		{name: "compile 100k lines, times 10k's time", unit: "×", ours: compileGrowth, fixed: 12},
		{name: "start of a one-line program", unit: "ms", ours: startOurs, peer: startEmpty, peers: "an empty Go program", target: 5},
		{name: "parse 10k lines", unit: "lines/s", rate: true, ours: parseRate(10_000), fixed: 400_000},
		{name: "check a 5,000-line program, with process start", unit: "ms", ours: checkFile(5_000), fixed: 15},
		listening("listen, one-way messages", "flood"),
		listening("listen, questions answered", "ask"),
	}
}

// versusLua runs the same program in Concerto and in Lua 5.4 and compares CPU
// time; the results must agree.
func versusLua(name, program string, target float64) measure {
	var results [2]string
	agree := func(i int, out string) error {
		results[i] = out
		if results[0] != "" && results[1] != "" && results[0] != results[1] {
			return fmt.Errorf("results differ: %s and %s", results[0], results[1])
		}
		return nil
	}
	return measure{name: name, unit: "ms", peers: "Lua 5.4", target: target,
		ours: func(l *lab) (float64, error) {
			_, cpu, out, err := process(l.dir, l.bin("concerto"), "run", l.program(program+".conc"))
			if err != nil {
				return 0, err
			}
			return cpu, agree(0, strings.TrimPrefix(out, "[result] "))
		},
		peer: func(l *lab) (float64, error) {
			_, cpu, out, err := process(l.dir, "lua5.4", l.program(program+".lua"))
			if err != nil {
				return 0, err
			}
			return cpu, agree(1, out)
		},
	}
}

func startOurs(l *lab) (float64, error) {
	return best(20, func() (float64, error) {
		wall, _, _, err := process(l.dir, l.bin("concerto"), "run", l.program("one.conc"))
		return wall, err
	})
}

func startEmpty(l *lab) (float64, error) {
	return best(20, func() (float64, error) {
		wall, _, _, err := process(l.dir, l.bin("empty"))
		return wall, err
	})
}

// parseRate measures the parser alone, in this process, on one core.
func parseRate(lines int) func(*lab) (float64, error) {
	text := []byte(generate(lines))
	n := float64(strings.Count(string(text), "\n"))
	return func(*lab) (float64, error) {
		ms, err := best(5, func() (float64, error) {
			start := time.Now()
			_, list := parser.Parse(source.NewFile("bench.conc", text))
			if list.HasErrors() {
				return 0, fmt.Errorf("the generated program does not parse: %s", list.Sorted()[0].Message)
			}
			return float64(time.Since(start).Microseconds()) / 1000, nil
		})
		return n / ms * 1000, err
	}
}

// growth runs a program with two sizes and gives how much longer the larger one
// takes, start-up left out.
func growth(program, large, small string) func(*lab) (float64, error) {
	return func(l *lab) (float64, error) {
		start, err := startOurs(l)
		if err != nil {
			return 0, err
		}
		times := [2]float64{}
		for i, n := range []string{large, small} {
			times[i], err = best(5, func() (float64, error) {
				wall, _, _, err := process(l.dir, l.bin("concerto"), "run", l.program(program), "--", n)
				return wall, err
			})
			if err != nil {
				return 0, err
			}
		}
		return (times[0] - start) / (times[1] - start), nil
	}
}

// compileTime parses, checks and generates a generated program in this process
// and gives the milliseconds.
func compileTime(lines int) (float64, error) {
	text := []byte(generate(lines))
	cfg := sema.Config{Name: "bench", Library: stdlib.Library(), Manifest: &sema.Manifest{
		Connections: map[string]sema.ManifestConnection{"demo": {Scripted: true}},
		Hosts:       map[string]sema.ManifestHost{"worker": {}},
	}}
	return best(3, func() (float64, error) {
		start := time.Now()
		file, list := parser.Parse(source.NewFile("bench.conc", text))
		program, found := sema.Check(cfg, file)
		list.Append(found)
		if list.HasErrors() {
			return 0, fmt.Errorf("the generated program does not compile: %s", list.Sorted()[0].Message)
		}
		codegen.Generate(program, codegen.ManifestData{})
		return float64(time.Since(start).Microseconds()) / 1000, nil
	})
}

func compileRate(lines int) func(*lab) (float64, error) {
	return func(*lab) (float64, error) {
		ms, err := compileTime(lines)
		return float64(lines) / ms * 1000, err
	}
}

func compileGrowth(*lab) (float64, error) {
	large, err := compileTime(100_000)
	if err != nil {
		return 0, err
	}
	small, err := compileTime(10_000)
	return large / small, err
}

// checkFile measures `concerto check` of a generated program as a whole
// process.
func checkFile(lines int) func(*lab) (float64, error) {
	return func(l *lab) (float64, error) {
		dir := l.bin("project-check")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(generatedManifest), 0o644); err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(generate(lines)), 0o644); err != nil {
			return 0, err
		}
		return best(10, func() (float64, error) {
			wall, _, _, err := process(dir, l.bin("concerto"), "check")
			return wall, err
		})
	}
}

// listening compares messages per second of a listen with those of a bare Go
// program on the same host.
func listening(name, mode string) measure {
	n := messages(mode)
	rate := func(wall float64) float64 { return float64(n) / wall * 1000 }
	answered := func(out string) error {
		if !strings.HasPrefix(out, fmt.Sprint(n)+" ") {
			return fmt.Errorf("counted %q, want %d messages", out, n)
		}
		return nil
	}
	return measure{name: name, unit: "messages/s", rate: true, peers: "bare Go", target: 0.7,
		ours: func(l *lab) (float64, error) {
			wall, _, out, err := process(l.bin("project-"+mode), l.bin("concerto"), "run")
			if err != nil {
				return 0, err
			}
			lines := strings.Split(out, "\n")
			return rate(wall), answered(lines[len(lines)-1])
		},
		peer: func(l *lab) (float64, error) {
			wall, _, out, err := process(l.dir, l.bin("peer"), l.bin("host"), mode, fmt.Sprint(n))
			if err != nil {
				return 0, err
			}
			return rate(wall), answered(out)
		},
	}
}
