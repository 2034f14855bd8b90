// Command editor compares `concerto lsp` with gopls: the same client, on projects of the same size
// in each language.
//
//	go run ./bench/editor [-rounds N] [-gopls VERSION]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 100, "how many keystrokes and completions")
	version := flag.String("gopls", "v0.20.0", "the `VERSION` of gopls to measure beside")
	flag.Parse()
	if err := run(*rounds, *version); err != nil {
		fmt.Fprintln(os.Stderr, "bench/editor:", err)
		os.Exit(1)
	}
}

// language is one of the two languages.
type language struct {
	name    string
	command []string
	id      string // the language id of the protocol
	file    string // the file extension
	long    func(lines int) string
	many    func(modules int) map[string]string // returns a project of modules of 100 lines
	common  string                              // the file with the name `used`, which is renamed
	module  string                              // a file of the project
	body    string                              // the beginning of a line in a body; the client types before it
	hole    string                              // what is completed
	renamed string                              // the new name of `used`
}

func run(rounds int, version string) error {
	dir, err := os.MkdirTemp("", "concerto-editor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	concerto, gopls := filepath.Join(dir, "concerto"), filepath.Join(dir, "gopls")
	if err := build("go", "build", "-o", concerto, "./cmd/concerto"); err != nil {
		return err
	}
	if err := build("env", "GOBIN="+dir, "GOFLAGS=", "go", "install", "golang.org/x/tools/gopls@"+version); err != nil {
		return err
	}
	all := []language{conc(concerto), golang(gopls)}
	var columns [][]row
	for _, l := range all {
		rows, err := l.measure(dir, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		columns = append(columns, rows)
	}
	fmt.Printf("| | %s | %s | | target |\n| --- | --- | --- | --- | --- |\n", all[0].name, all[1].name)
	for i, r := range columns[0] {
		peer, ratio := columns[1][i].value, ""
		if peer > 0 {
			ratio = fmt.Sprintf("%.2f", r.value/peer)
		}
		fmt.Printf("| %s | %.1f %s | %.1f %s | %s | %s |\n", r.title, r.value, r.unit, peer, r.unit, ratio, r.wanted)
	}
	return nil
}

func build(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// row is one figure.
type row struct {
	title  string
	value  float64
	unit   string
	wanted string
}

// percentile returns the value below which a share of all values lies, in milliseconds.
func percentile(all []time.Duration, share float64) float64 {
	slices.Sort(all)
	return ms(all[min(len(all)-1, int(share*float64(len(all))))])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
