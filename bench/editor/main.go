// Command editor compares `concerto lsp` with gopls. The same client measures both servers on
// projects of the same size in their languages.
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

// language contains the server of a language, and the projects and edits to measure.
type language struct {
	name    string
	command []string
	id      string // identifier of the language in the protocol
	file    string // extension of the language's files
	long    func(lines int) string
	many    func(modules int) map[string]string // returns a project of modules with 100 lines each
	common  string                              // file that declares the name `used`, which is renamed
	module  string                              // file of the project that is edited
	body    string                              // beginning of a line in the body of a function; the client types before it
	hole    string                              // text that is completed
	renamed string                              // new name of `used`
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

// row is one measured value.
type row struct {
	title  string
	value  float64
	unit   string
	wanted string
}

// percentile returns the value in milliseconds below which a share of all values lies.
func percentile(all []time.Duration, share float64) float64 {
	slices.Sort(all)
	return ms(all[min(len(all)-1, int(share*float64(len(all))))])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
