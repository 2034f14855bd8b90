// Command bench measures Concerto and its peers, which are other programs for the same tasks. It
// runs them alternately and prints ratios, because ratios depend less on the machine and its load
// than times. `make bench` runs it and writes the tables in bench/README.md.
//
//	go run ./bench [-only NAME,NAME…] [-rounds N] [-write] [-list]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each is measured; the best counts. Go VMs take a third of them, or one when slow")
	only := flag.String("only", "", "measure only these, by `NAME,NAME…`")
	write := flag.Bool("write", false, "write what was measured into the tables of bench/README.md")
	list := flag.Bool("list", false, "list the names")
	flag.Parse()
	if *list {
		for _, name := range names() {
			fmt.Println(name)
		}
		return
	}
	if err := run(*rounds, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// names returns all names for -only.
func names() []string {
	var out []string
	for _, w := range workloads {
		out = append(out, w.name)
	}
	for _, m := range measures() {
		out = append(out, m.name)
	}
	return out
}

func run(rounds int, only string, write bool) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if rounds < 1 {
		return fmt.Errorf("-rounds %d: at least 1", rounds)
	}
	l, err := newLab(slices.ContainsFunc(workloads, func(w workload) bool { return chosen[w.name] }))
	if err != nil {
		return err
	}
	defer os.RemoveAll(l.dir)
	r := report{rounds: rounds}
	if write {
		r.page = filepath.Join(l.root, "bench", "README.md")
	}
	if err := r.compare(l, chosen); err != nil {
		return err
	}
	return r.measure(l, chosen)
}

// choose returns the set of names to measure. If only is "", it contains all names.
func choose(only string) (map[string]bool, error) {
	all := names()
	chosen := map[string]bool{}
	if only == "" {
		for _, name := range all {
			chosen[name] = true
		}
		return chosen, nil
	}
	for _, name := range strings.Split(only, ",") {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("-only %s: there is no %q; there are %s", only, name, strings.Join(all, ", "))
		}
		chosen[name] = true
	}
	return chosen, nil
}
