// Command runs counts the instruction sequences that programs execute most often and that could
// become one instruction. Its results guide the choice of superinstructions.
//
//	go run ./bench/runs [-n 2] [-top 20] PROGRAM…
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

func main() {
	n := flag.Int("n", 2, "how many instructions")
	top := flag.Int("top", 20, "how many runs")
	flag.Parse()
	if err := count(flag.Args(), *n, *top); err != nil {
		fmt.Fprintln(os.Stderr, "runs:", err)
		os.Exit(1)
	}
}

// count adds up the shares of the sequences in all programs. Each program has the same weight,
// regardless of its duration.
func count(paths []string, n, top int) error {
	share := map[string]float64{}
	for _, path := range paths {
		runs, all, err := run(path, n)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, r := range runs {
			var names []string
			for _, op := range r.Ops {
				names = append(names, op.String())
			}
			share[strings.Join(names, " ")] += 100 * float64(r.Times) / float64(all) / float64(len(paths))
		}
	}
	var names []string
	for name := range share {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if share[a] != share[b] {
			return int(min(max((share[b]-share[a])*1e9, -1), 1))
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[:min(top, len(names))] {
		fmt.Printf("%5.1f%%  %s\n", share[name], name)
	}
	return nil
}

func run(path string, n int) ([]vm.Run, int64, error) {
	in, err := driver.Load(driver.Request{Path: path, Dir: "."})
	if err != nil {
		return nil, 0, err
	}
	p, found := driver.Build(in)
	if p == nil {
		return nil, 0, fmt.Errorf("the program does not compile: %s", found.Sorted()[0].Message)
	}
	m, err := vm.New(vm.Config{Program: p, Natives: stdlib.Native, Performer: effect.PerformerFunc(perform), Count: vm.Counting{Instructions: true}})
	if err != nil {
		return nil, 0, err
	}
	if _, err := m.Run(context.Background()); err != nil {
		return nil, 0, err
	}
	runs, all := m.Runs(n)
	return runs, all, nil
}

// perform handles print and emit requests. It rejects all others.
func perform(_ context.Context, r effect.Request) (effect.Result, error) {
	switch r.(type) {
	case *effect.Print, *effect.Emit, *effect.Sleep:
		return nil, nil
	}
	return nil, fmt.Errorf("programs that are counted perform no %s", r.Kind())
}
