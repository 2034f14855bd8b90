package main

import (
	"fmt"
	"os"
	"strings"
)

// keeping compares a listen in a durable run with a listen in a run without a journal. In the
// durable run, a separate keeper process owns the host.
func keeping(name, title, mode string, n int, target float64) measure {
	run := func(l *lab, flags ...string) (float64, error) {
		dir, err := l.listener(mode, n, 1, listenProgram)
		if err != nil {
			return 0, err
		}
		p, err := l.process(dir, append([]string{l.bin("concerto"), "run", "--progress", "none"}, flags...)...)
		if err != nil {
			return 0, err
		}
		if got := lastLine(p.out); !strings.HasPrefix(got, fmt.Sprint(n)+" ") {
			return 0, fmt.Errorf("the program counted %q messages, want %d", got, n)
		}
		return p.wall, nil
	}
	m := measure{name: name, title: title, unit: "ms", peers: "the same without --journal", target: target, pairs: pairs}
	m.peer = func(l *lab) (float64, error) { return run(l) }
	m.ours = func(l *lab) (float64, error) {
		job := l.bin("job")
		if err := os.RemoveAll(job); err != nil {
			return 0, err
		}
		return run(l, "--journal", job)
	}
	return m
}
