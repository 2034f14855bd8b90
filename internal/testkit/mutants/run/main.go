// Command run tests the mutants of packages and prints the survivors: `make mutants`. Its exit code
// is 1 if too many of a package's mutants survive.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/internal/testkit/mutants"
)

func main() {
	o := mutants.Options{}
	flag.IntVar(&o.Count, "n", 100, "how many mutants of a package, at most")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed that selects the mutants")
	flag.IntVar(&o.Parallel, "p", 1, "number of parallel test runs")
	flag.StringVar(&o.Only, "only", "", "only mutants whose line, as it is printed, matches this regular expression")
	least := flag.Float64("least", 85, "minimum percentage of killed mutants in each package")
	verbose := flag.Bool("v", false, "log each mutant")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: run [flags] [package...], from the module's root")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *verbose {
		o.Log = func(line string) { fmt.Fprintln(os.Stderr, line) }
	}
	var err error
	if o.Root, err = os.Getwd(); err != nil {
		fail(err)
	}
	few := false
	for _, t := range mutants.Targets {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), t.Package) {
			continue
		}
		r, err := mutants.Run(t, o)
		if err != nil {
			fail(err)
		}
		show(r, o.Root)
		few = few || r.Killed() < *least
	}
	if few {
		os.Exit(1)
	}
}

func show(r *mutants.Result, root string) {
	for _, name := range r.LeftOut {
		fmt.Printf("%s: %s is left out: it fails without an active mutant\n", r.Target.Package, name)
	}
	list := func(what string, all []*mutants.Mutant) {
		for _, m := range all {
			if file, err := filepath.Rel(root, m.File); err == nil {
				m.File = file
			}
			fmt.Printf("%s: %s\n", what, m)
		}
	}
	list("not reached", r.Unreached)
	list("lives", r.Alive)
	fmt.Printf("%s: of %d mutants %d were tried, %d reached, %d killed: %.1f %%\n",
		r.Target.Package, r.All, r.Tried, r.Tried-len(r.Unreached), r.Tried-len(r.Unreached)-len(r.Alive), r.Killed())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
