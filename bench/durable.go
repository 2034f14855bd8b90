package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// longRun is a program that performs n effects and then waits for an answer.
const longRun = `use std::{env, time};
fn main() {
    let mut sum = 0;
    for _ in 0..%d { sum = sum + time::now_ms() %% 7; }
    if env::args().len() == 0 { emit("sum", await emit<String>("ask", sum)); }
}
`

// parked runs a program in a new directory until it waits. Its journal is in the subdirectory job.
func (l *lab) parked(name, program string, n int) (dir string, err error) {
	dir = l.bin(name)
	if _, err := os.Stat(filepath.Join(dir, "job")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), fmt.Appendf(nil, program, n), 0o600); err != nil {
		return "", err
	}
	_, err = l.waits(dir, "run", "--journal", "job", "--park", "--sync", "never", "main.conc")
	return dir, err
}

// waits runs concerto and requires that the run is suspended because it waits.
func (l *lab) waits(dir string, args ...string) (outcome, error) {
	return l.process(dir, append([]string{"sh", "-c", `"$0" "$@" 2>&1; test $? -eq 75`, l.bin("concerto")}, args...)...)
}

// started measures the start of a one-line program in the same way as the resumption of a run.
func (l *lab) started(dir string) (float64, error) {
	p, err := l.process(dir, "sh", "-c", `"$0" run --eval 'println(1)' >/dev/null`, l.bin("concerto"))
	return p.wall, err
}

// resuming measures the resumption of a waiting run with n effects. The result is the time in
// addition to the start of a program.
func resuming(name, title string, n int, most float64) measure {
	return measure{name: name, title: title, unit: "ms", fixed: most, ours: func(l *lab) (float64, error) {
		dir, err := l.parked("long", longRun, n)
		if err != nil {
			return 0, err
		}
		p, err := l.waits(dir, "runs", "resume", "job")
		if err != nil {
			return 0, err
		}
		start, err := l.started(dir)
		return p.wall - start, err
	}}
}

// journaling measures the cost of recording an effect, in microseconds.
func journaling(n int) measure {
	run := func(l *lab, flags ...string) (float64, error) {
		dir, err := l.parked("long", longRun, n)
		if err != nil {
			return 0, err
		}
		p, err := l.process(dir, append(append([]string{l.bin("concerto"), "run"}, flags...), "main.conc", "--", "none")...)
		return p.wall, err
	}
	return measure{name: "journal", title: "an effect's record in the journal, unsynced", unit: "µs", fixed: 20, ours: func(l *lab) (float64, error) {
		job := l.bin("journaled")
		if err := os.RemoveAll(job); err != nil {
			return 0, err
		}
		recorded, err := run(l, "--journal", job, "--sync", "never")
		if err != nil {
			return 0, err
		}
		plain, err := run(l)
		return (recorded - plain) * 1000 / float64(n), err
	}}
}

// durable returns the measures of durable runs.
func durable() []measure {
	return []measure{
		journaling(50_000),
		resuming("resume", "resume a run of 50,000 effects, beyond the start of a program", 50_000, 600),
		keeping("kept-messages", "20,000 messages through keeper and journal", "flood", 20_000, 1.6),
		keeping("kept-questions", "5,000 questions through keeper and journal", "ask", 5_000, 2),
	}
}
