// Command bench measures Concerto side by side with its peers, in one run,
// interleaved, and prints ratios: machines differ and are noisy, ratios less
// so. `make bench` runs it and writes the table into bench/README.md.
//
//	go run ./bench [-rounds N] [-only REGEXP] [-write]
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// measure is one row of the table: something of ours, a peer, and how much of
// the peer's figure ours may be (or, for rates, must be).
type measure struct {
	name   string
	ours   func(*lab) (float64, error)
	peer   func(*lab) (float64, error)
	peers  string // what the peer is
	unit   string
	rate   bool    // larger is better
	target float64 // of the peer's; 0 for none
	fixed  float64 // an absolute target in unit; 0 for none
}

// lab is a scratch directory with the binaries to measure.
type lab struct{ dir, root string }

func (l *lab) bin(name string) string { return filepath.Join(l.dir, name) }

func main() {
	rounds := flag.Int("rounds", 5, "how often each is measured; the best counts")
	only := flag.String("only", "", "measure only rows that match this regular expression")
	write := flag.Bool("write", false, "write the table into bench/README.md")
	flag.Parse()
	if err := run(*rounds, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, only string, write bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	l, err := newLab()
	if err != nil {
		return err
	}
	defer os.RemoveAll(l.dir)
	var rows []string
	for _, m := range measures() {
		if !pattern.MatchString(m.name) {
			continue
		}
		row, err := m.run(l, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Println(row)
		rows = append(rows, row)
	}
	if !write {
		return nil
	}
	return writeTable(filepath.Join(l.root, "bench", "README.md"), rows)
}

// run measures both sides in turn and keeps each one's best.
func (m measure) run(l *lab, rounds int) (string, error) {
	ours, peer := 0.0, 0.0
	better := func(a, b float64) bool { return b == 0 || m.rate && a > b || !m.rate && a < b }
	for range rounds {
		v, err := m.ours(l)
		if err != nil {
			return "", err
		}
		if better(v, ours) {
			ours = v
		}
		if m.peer == nil {
			continue
		}
		if v, err = m.peer(l); err != nil {
			return "", err
		}
		if better(v, peer) {
			peer = v
		}
	}
	return m.row(ours, peer), nil
}

func (m measure) row(ours, peer float64) string {
	cells := []string{m.name, number(ours) + " " + m.unit, "", "", ""}
	if m.peer != nil {
		cells[2] = fmt.Sprintf("%s: %s %s", m.peers, number(peer), m.unit)
		cells[3] = fmt.Sprintf("%.2f", ours/peer)
	}
	word := "at most"
	if m.rate {
		word = "at least"
	}
	switch {
	case m.target > 0:
		cells[4] = fmt.Sprintf("%s %.2f", word, m.target)
	case m.fixed > 0:
		cells[4] = fmt.Sprintf("%s %s %s", word, number(m.fixed), m.unit)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

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

// The table stands between these lines of bench/README.md.
const (
	tableStart = "<!-- table -->"
	tableEnd   = "<!-- end of table -->"
)

func writeTable(path string, rows []string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableStart)
	_, after, also := strings.Cut(rest, tableEnd)
	if !ok || !also {
		return fmt.Errorf("%s has no lines %q and %q", path, tableStart, tableEnd)
	}
	table := "\n| workload | ours | peer | ratio | target |\n| --- | --- | --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n"
	return os.WriteFile(path, []byte(before+tableStart+table+tableEnd+after), 0o644)
}
