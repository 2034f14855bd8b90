package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// evaluated is a program with an eval whose samples call an agent once, and tests that do the same
// with a mock.
const evaluated = `agent A uses scripted { }

schema Row { id: Int, text: String, want: String, weight: Float }

@eval(data: "rows.jsonl")
fn scored(row: Row) -> Result<Bool, Error> { Ok(A.execute(row.text)?.text.contains(row.want)) }

fn main() {}
`

// evalRows writes a project with an eval of n rows, and n tests if tests is set. It returns its
// directory.
func (l *lab) evalRows(name string, n int, tests bool) (string, error) {
	dir := l.bin("evals/" + name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	var rows, program strings.Builder
	program.WriteString(evaluated)
	for i := range n {
		fmt.Fprintf(&rows, `{"id":%d,"text":"The export of report %d fails","want":"report %d","weight":0.5}`+"\n", i, i, i)
		if tests {
			fmt.Fprintf(&program, "@test fn t%d() { mock A { response: \"report %d\" } assert(A.execute(\"x\").unwrap().text.contains(\"report\")); }\n", i, i)
		}
	}
	return dir, writeProject(dir, map[string]string{"main.conc": program.String(), "rows.jsonl": rows.String()})
}

// quietly runs concerto without its output and returns the wall time in milliseconds.
func (l *lab) quietly(dir string, args ...string) (float64, error) {
	p, err := l.process(dir, append([]string{"sh", "-c", `"$0" "$@" >/dev/null`, l.bin("concerto")}, args...)...)
	return p.wall, err
}

// handwritten writes two results of n cases with repetitions and metrics. It returns their
// directory.
func (l *lab) handwritten(n, repeat, metrics int) (string, error) {
	dir := l.bin("evals/results")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	files := map[string]string{}
	for _, name := range []string{"a.ndjson", "b.ndjson"} {
		var b strings.Builder
		b.WriteString(`{"eval":1,"metrics":[`)
		for m := range metrics {
			if m > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"name":"m%d"}`, m)
		}
		b.WriteString("]}\n")
		for i := range n {
			for range repeat {
				fmt.Fprintf(&b, `{"case":"c%d","scores":{`, i)
				for m := range metrics {
					if m > 0 {
						b.WriteByte(',')
					}
					fmt.Fprintf(&b, `"m%d":%.3f`, m, random.Float64())
				}
				b.WriteString("}}\n")
			}
		}
		files[name] = b.String()
	}
	return dir, writeProject(dir, files)
}

// evalMeasures measures evals: samples from tapes, the overhead of a sample, and comparisons.
func evalMeasures() []measure {
	return []measure{
		{name: "eval-cached", title: "10,000 samples of an eval from their tapes, with process start", unit: "ms", fixed: 60_000, ours: func(l *lab) (float64, error) {
			dir, err := l.evalRows("cached", 10_000, false)
			if err != nil {
				return 0, err
			}
			if _, err := os.Stat(filepath.Join(dir, "evals")); err != nil {
				if _, err := l.quietly(dir, "eval", "main.conc"); err != nil {
					return 0, err
				}
			}
			return l.quietly(dir, "eval", "main.conc", "--cached")
		}},
		{name: "eval-overhead", title: "a sample of an eval that calls a scripted model and writes its tape, with process start, of 2,000", unit: "ms", fixed: 2,
			peers: "a test with a mock", peer: func(l *lab) (float64, error) {
				dir, err := l.evalRows("overhead", 2_000, true)
				if err != nil {
					return 0, err
				}
				ms, err := l.quietly(dir, "test", "--parallel", "4", "main.conc")
				return ms / 2_000, err
			}, ours: func(l *lab) (float64, error) {
				dir, err := l.evalRows("overhead", 2_000, true)
				if err != nil {
					return 0, err
				}
				ms, err := l.quietly(dir, "eval", "--fresh", "main.conc")
				return ms / 2_000, err
			}},
		{name: "eval-data", title: "check a program with a dataset of 100,000 rows, with process start", unit: "ms", fixed: 2_000, ours: func(l *lab) (float64, error) {
			dir, err := l.evalRows("data", 100_000, false)
			if err != nil {
				return 0, err
			}
			return l.quietly(dir, "check", "main.conc")
		}},
		{name: "eval-compare", title: "compare results of 1,000 cases with five repetitions and eight metrics", unit: "ms", fixed: 1_000, ours: func(l *lab) (float64, error) {
			dir, err := l.handwritten(1_000, 5, 8)
			if err != nil {
				return 0, err
			}
			p, err := l.process(dir, "sh", "-c", `"$0" eval compare a.ndjson b.ndjson >/dev/null; test $? -ne 2`, l.bin("concerto"))
			return p.wall, err
		}},
	}
}
