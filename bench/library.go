package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// libraryOps contains operations on 10 MB of text or a million numbers. library/main.conc performs
// them with Concerto's library, and library/main.py with CPython's.
var libraryOps = []struct{ op, title string }{
	{"json-parse", "json.parse of 10 MB"},
	{"json-stringify", "json.stringify of the same"},
	{"sort", "sort of 1M integers"},
	{"split", "split of 10 MB at spaces"},
	{"join", "join of the parts"},
	{"find-digits", "regex: find_all `\\d+` in 10 MB"},
	{"find-address", "regex: find_all of addresses"},
	{"find-groups", "regex: find_all with groups"},
	{"find-nothing", "regex: find_all of three words that do not occur, in any case"},
	{"match-lines", "regex: is_match on 80k lines"},
	{"replace", "regex: replace in 10 MB"},
	{"split-expression", "regex: split of 10 MB"},
}

// library returns the measures that compare Concerto's library with CPython's. Both programs
// measure only the operation, and their results must be equal.
func library() []measure {
	var out []measure
	for _, x := range libraryOps {
		result := ""
		timed := func(p outcome, err error) (float64, error) {
			if err != nil {
				return 0, err
			}
			ms, got, _ := strings.Cut(p.out, " ")
			if result == "" {
				result = got
			}
			if got != result {
				return 0, fmt.Errorf("%s: results differ: %s and %s", x.op, got, result)
			}
			return strconv.ParseFloat(ms, 64)
		}
		out = append(out, measure{name: "library-" + x.op, title: x.title, unit: "ms", peers: "CPython", target: 1,
			ours: func(l *lab) (float64, error) {
				dir, err := l.libraryData()
				if err != nil {
					return 0, err
				}
				return timed(l.process(dir, l.bin("concerto"), "run", filepath.Join(l.root, "bench/library/main.conc"), "--", x.op))
			},
			peer: func(l *lab) (float64, error) {
				dir, err := l.libraryData()
				if err != nil {
					return 0, err
				}
				return timed(l.process(dir, "python3", filepath.Join(l.root, "bench/library/main.py"), x.op))
			}})
	}
	return out
}

var (
	libraryWords  = strings.Fields("lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore")
	libraryLevels = []string{"INFO", "WARN", "ERROR"}
)

// libraryData returns a directory with 10 MB of JSON and a log of 10 MB. The first call creates the
// files.
func (l *lab) libraryData() (string, error) {
	dir := l.bin("library")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	draw := uint32(7)
	word := func() string {
		draw = draw*1664525 + 1013904223
		return libraryWords[(draw>>16)%uint32(len(libraryWords))]
	}
	var doc, log strings.Builder
	for i := 0; doc.Len() < 10_000_000; i++ {
		fmt.Fprintf(&doc, `{"id":%d,"name":"%s %s","price":%d.%02d,"tags":["%s","%s"],"active":%t,"owner":{"email":"%s.%d@example.com","age":%d,"note":null,"text":"line\n\"quoted\" été"}},`,
			i, word(), word(), i%1000, i%97+1, word(), word(), i%3 == 0, word(), i, i%90)
	}
	for i := 0; log.Len() < 10_000_000; i++ {
		fmt.Fprintf(&log, "2026-%02d-%02dT%02d:%02d:%02d %s user=%s.%d@example.com took %d ms: %s %s %s %s %s %s\n",
			i%12+1, i%28+1, i%24, i%60, i%60, libraryLevels[i%3], word(), i, i*7919%5000, word(), word(), word(), word(), word(), word())
	}
	for name, text := range map[string]string{"doc.json": "[" + strings.TrimSuffix(doc.String(), ",") + "]", "log.txt": log.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}
