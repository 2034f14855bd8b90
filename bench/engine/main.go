// Command engine measures durable runs in a PostgreSQL database, beside bare transactions on the
// same server. The server has a temporary directory and syncs its data to the disk.
//
//	go run ./bench/engine                  all measurements
//	go run ./bench/engine -only mix,once   only these; -list prints the names
//	go run ./bench/engine -write           write the table in bench/README.md
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// row is a measurement of the table.
type row struct {
	name, what, unit string
	aim              float64 // maximum, or minimum if isRate is set
	isRate           bool
	isTime           bool // the table has its ratio to a bare transaction between two requests
	maxRatio         float64
	measure          func(*lab) (float64, error)
}

var rows = []row{
	{name: "mix", what: "an effect of one run: half of them read, a quarter each `retry` and `once`, beyond the same without a journal", unit: "ms", aim: 0.25, isTime: true, measure: mix},
	{name: "once", what: "a `once` effect of one run, beyond the same without a journal", unit: "ms", aim: 0.7, isTime: true, maxRatio: 1.5, measure: once},
	{name: "many", what: "100 runs at once", unit: "effects/s", aim: 5000, isRate: true, measure: many},
	{name: "takeover", what: "a run of a worker that was killed, after the end of its lease", unit: "ms", aim: 500, measure: takeover},
	{name: "drain", what: "a run of a worker that stops, until another one owns it", unit: "ms", aim: 300, measure: drain},
	{name: "answer", what: "from an answer to the next output of the run", unit: "ms", aim: 300, measure: answer},
	{name: "parked", what: "an idle worker with 1,000 waiting runs", unit: "transactions/s", aim: 20, measure: parked},
	{name: "resume", what: "resume a run of 50,000 effects", unit: "ms", aim: 600, measure: resume},
	{name: "claim", what: "a claim among 100,000 waiting runs", unit: "ms", aim: 5, isTime: true, measure: claim},
}

func main() {
	only := flag.String("only", "", "measure only these comma-separated `NAMES`")
	list := flag.Bool("list", false, "list the names of the measurements")
	write := flag.Bool("write", false, "write the table in bench/README.md")
	flag.Parse()
	if *list {
		for _, r := range rows {
			fmt.Printf("%-10s %s\n", r.name, r.what)
		}
		return
	}
	if err := run(*only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run(only string, write bool) (err error) {
	l, err := newLab()
	if err != nil {
		return err
	}
	defer func() {
		if closed := l.close(); err == nil {
			err = closed
		}
	}()
	text := "| measure | Concerto | of a bare transaction | aim |\n| --- | --- | --- | --- |\n"
	add := func(line string) {
		text += line
		fmt.Print(line)
	}
	if err = l.bare(); err != nil {
		return err
	}
	add(fmt.Sprintf("| a bare transaction between two requests: one `UPDATE` and one `INSERT` | %.3g ms | 1 | |\n", l.between))
	add(fmt.Sprintf("| the same again and again | %.3g ms | %.2f | |\n", l.repeated, l.repeated/l.between))
	for _, r := range rows {
		if only != "" && !strings.Contains(","+only+",", ","+r.name+",") {
			continue
		}
		value, err := r.measure(l)
		l.stopWorkers(syscall.SIGTERM)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		add(r.line(value, l.between))
	}
	if !write || only != "" {
		return nil
	}
	return writeTable(filepath.Join("bench", "README.md"), text)
}

// line returns the line of a table.
func (r row) line(value, bare float64) string {
	aim, met := fmt.Sprintf("at most %v %s", r.aim, r.unit), value <= r.aim
	if r.isRate {
		aim, met = fmt.Sprintf("at least %v %s", r.aim, r.unit), value >= r.aim
	}
	ratio := ""
	if r.isTime {
		ratio = fmt.Sprintf("%.2f", value/bare)
	}
	if r.maxRatio > 0 {
		aim, met = fmt.Sprintf("%s, %v", aim, r.maxRatio), met && value/bare <= r.maxRatio
	}
	if !met {
		aim += " ✗"
	}
	text := fmt.Sprintf("%.3g", value)
	if value >= 1000 {
		text = fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("| %s | %s %s | %s | %s |\n", r.what, text, r.unit, ratio, aim)
}

// writeTable replaces the table in a page.
func writeTable(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	const start, end = "<!-- engine -->\n", "<!-- end of engine -->\n"
	before, rest, ok := strings.Cut(string(text), start)
	_, after, also := strings.Cut(rest, end)
	if !ok || !also {
		return fmt.Errorf("%s has no lines %q and %q", page, start, end)
	}
	return os.WriteFile(page, []byte(before+start+table+end+after), 0o644)
}
