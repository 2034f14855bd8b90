package main

import (
	"encoding/json"
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

// idleRun is a program that starts n tasks, which wait for a long time.
const idleRun = `async fn idle(n: Int, name: String) -> Int { std::time::sleep(3600000 + n); println(name); n }
fn main() {
    let mut all: Array<Task<Int>> = [];
    for i in 0..%d { all.push(idle(i, "task ${i}")); }
    for t in all { t.await; }
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

// resuming measures the resumption of a waiting run with n effects, from a snapshot or by a replay.
// The result is the time in addition to the start of a program.
func resuming(name, title string, n int, snapshot bool, most float64) measure {
	return measure{name: name, title: title, unit: "ms", fixed: most, ours: func(l *lab) (float64, error) {
		dir, err := l.parked("long", longRun, n)
		if err != nil {
			return 0, err
		}
		if !snapshot {
			all, err := filepath.Glob(filepath.Join(dir, "job", "snapshot-*.bin"))
			if err != nil {
				return 0, err
			}
			for _, file := range all {
				if err := os.Remove(file); err != nil {
					return 0, err
				}
			}
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

// snapshotting measures a snapshot of n idle tasks. of computes the result from the size in bytes
// and the time in milliseconds.
func snapshotting(name, title, unit string, n int, most float64, of func(bytes, ms float64) float64) measure {
	return measure{name: name, title: title, unit: unit, fixed: most, ours: func(l *lab) (float64, error) {
		dir, err := l.parked(fmt.Sprint("idle", n), idleRun, n)
		if err != nil {
			return 0, err
		}
		if _, err := l.waits(dir, "runs", "resume", "job"); err != nil {
			return 0, err
		}
		p, err := l.process(dir, l.bin("concerto"), "runs", "show", "job", "--format", "json")
		if err != nil {
			return 0, err
		}
		var shown struct {
			Snapshot *struct {
				Bytes, MS float64
				Tasks     int
			}
		}
		if err := json.Unmarshal([]byte(p.out), &shown); err != nil {
			return 0, err
		}
		if shown.Snapshot == nil || shown.Snapshot.Tasks < n {
			return 0, fmt.Errorf("no snapshot of %d tasks: %s", n, p.out)
		}
		return of(shown.Snapshot.Bytes, shown.Snapshot.MS), nil
	}}
}

// durable returns the measures of durable runs.
func durable() []measure {
	all := []measure{
		journaling(50_000),
		resuming("resume", "resume a run of 50,000 effects, from a snapshot, beyond the start of a program", 50_000, true, 50),
		resuming("replay", "the same without a snapshot", 50_000, false, 1000),
		keeping("kept-messages", "20,000 messages through keeper and journal", "flood", 20_000, 1.6),
		keeping("kept-questions", "5,000 questions through keeper and journal", "ask", 5_000, 2),
	}
	for _, n := range []int{1, 100, 10_000} {
		all = append(all,
			snapshotting(fmt.Sprint("snapshot-", n), fmt.Sprintf("write a snapshot of %d idle tasks", n), "ms", n, 50, func(_, ms float64) float64 { return ms }))
	}
	return append(all, snapshotting("snapshot-size", "an idle task in a snapshot of 10,000", "bytes", 10_000, 600, func(bytes, _ float64) float64 { return bytes / 10_000 }))
}
