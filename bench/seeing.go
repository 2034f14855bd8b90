package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
)

// seenCalls is the number of calls of an agent in a run that is exported, and seenItems the number
// of items in a run of which a report is written.
const (
	seenCalls = 5_000
	seenItems = 100_000
)

const seenManifest = `[project]
name = "seen"
entry = "main.conc"
[connections.rules]
provider = "scripted"
default_model = "m"
replies = [{ text = "fine", repeat = true }]
`

const seenProgram = `agent Judge uses rules {}

fn main() {
    let kind = std::env::args()[0];
    let mut left = std::env::args()[1].parse_int().unwrap_or(0);
    while left > 0 {
        if kind == "calls" { Judge.execute("judge").unwrap(); } else { emit("tick", left); }
        left -= 1;
    }
}
`

// seen writes the project of seenProgram, and returns its directory.
func (l *lab) seen() (string, error) {
	dir := l.bin("project-seen")
	return dir, writeProject(dir, map[string]string{"Concerto.toml": seenManifest, "main.conc": seenProgram})
}

// seenCall measures the CPU time of a call of an agent whose model replies at once, in
// microseconds, without the start of the process. variables are set in the environment of the run.
func seenCall(variables func() (list []string, end func())) func(*lab) (float64, error) {
	return func(l *lab) (float64, error) {
		dir, err := l.seen()
		if err != nil {
			return 0, err
		}
		list, end := variables()
		defer end()
		var times [2]float64
		for i, n := range []int{seenCalls, 0} {
			times[i], err = best(3, func() (float64, error) {
				p, err := l.process(dir, append(append([]string{"env"}, list...), l.bin("concerto"), "run", "--", "calls", fmt.Sprint(n))...)
				return p.cpu, err
			})
			if err != nil {
				return 0, err
			}
		}
		return (times[0] - times[1]) * 1e3 / seenCalls, nil
	}
}

// exporting measures a call of an agent that is exported as two spans, with a collector that
// accepts everything.
func exporting() measure {
	collect := func() ([]string, func()) {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
		return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.URL}, s.Close
	}
	none := func() ([]string, func()) { return nil, func() {} }
	return measure{name: "exported", title: "an agent's call exported as two spans, CPU time", unit: "µs", ours: seenCall(collect), peer: seenCall(none), peers: "the call without an export", fixed: 46}
}

// reporting measures the report of a stored run with seenItems items, with the run as the peer.
func reporting() measure {
	store := func(l *lab) (dir string, wall float64, err error) {
		if dir, err = l.seen(); err != nil {
			return "", 0, err
		}
		if err := os.RemoveAll(filepath.Join(dir, "job")); err != nil {
			return "", 0, err
		}
		p, err := l.process(dir, l.bin("concerto"), "run", "--journal", "job", "--", "emits", fmt.Sprint(seenItems))
		return dir, p.wall / 1e3, err
	}
	return measure{name: "report", title: "the report of a stored run with 100,000 items, with process start", unit: "s", fixed: 3, peers: "the run",
		ours: func(l *lab) (float64, error) {
			dir, _, err := store(l)
			if err != nil {
				return 0, err
			}
			p, err := l.process(dir, l.bin("concerto"), "report", "job", "-o", "report.html")
			return p.wall / 1e3, err
		},
		peer: func(l *lab) (float64, error) {
			_, wall, err := store(l)
			return wall, err
		}}
}
