package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// pairs is the number of runs of a listen and of its counterpart in Go. The median of the ratios is
// the result.
const pairs = 11

// listening compares a listen with a plain Go program. Both use the same host. If per is not "",
// the result is the time for each message in microseconds. Otherwise it is the number of messages
// in a second.
func listening(name, title, mode, per string, target float64) measure {
	n := messages(mode)
	m := measure{name: name, title: title, unit: "messages/s", rate: true, peers: "bare Go", target: target, pairs: pairs}
	figure := func(p outcome) float64 { return float64(n) / p.wall * 1000 }
	if per != "" {
		m.unit, m.rate = "µs a "+per, false
		figure = func(p outcome) float64 { return p.wall * 1000 / float64(n) }
	}
	answered := func(out string) error {
		if !strings.HasPrefix(out, fmt.Sprint(n)+" ") {
			return fmt.Errorf("the program counted %q messages, want %d", out, n)
		}
		return nil
	}
	m.ours = func(l *lab) (float64, error) {
		dir, err := l.listener(mode, n, 1, listenProgram)
		if err != nil {
			return 0, err
		}
		p, err := l.process(dir, l.bin("concerto"), "run", "--progress", "none")
		if err != nil {
			return 0, err
		}
		return figure(p), answered(lastLine(p.out))
	}
	m.peer = func(l *lab) (float64, error) {
		if err := l.host(); err != nil {
			return 0, err
		}
		p, err := l.process(l.dir, l.bin("peer"), l.bin("chost"), mode, fmt.Sprint(n))
		if err != nil {
			return 0, err
		}
		return figure(p), answered(p.out)
	}
	return m
}

// shown compares a listen that shows its progress, as users run it, with one that does not.
// standardError is what the standard error of both is. script runs a command line in a shell.
func shown(name, standardError string, script func(command string) string) measure {
	n := messages("flood")
	run := func(flags string) func(*lab) (float64, error) {
		return func(l *lab) (float64, error) {
			dir, err := l.listener("flood", n, 1, listenProgram)
			if err != nil {
				return 0, err
			}
			p, err := l.process(dir, "sh", "-c", script(l.bin("concerto")+" run"+flags))
			if err != nil {
				return 0, err
			}
			if got := lastLine(p.out); !strings.HasPrefix(got, fmt.Sprint(n)+" ") {
				return 0, fmt.Errorf("the program counted %q messages, want %d", got, n)
			}
			return p.wall, nil
		}
	}
	return measure{name: name, title: "listen, one-way messages, standard error " + standardError, unit: "ms", ours: run(""), peer: run(" --progress none"), peers: "`--progress none`", target: 1.05, pairs: pairs}
}

// shownListens are the measures of listens in the modes in which users run them.
func shownListens() []measure {
	return []measure{
		shown("listen-pipe", "a pipe", func(command string) string { return "exec " + command }),
		shown("listen-file", "a file", func(command string) string { return "exec " + command + " 2>errors" }),
		shown("listen-terminal", "a terminal", func(command string) string {
			return "script -qec '" + command + " >output' /dev/null >/dev/null && cat output"
		}),
	}
}

// Sizes of the measurement of concurrent listens, each with a host process that asks questions.
const (
	crowd          = 1000
	crowdQuestions = 100
)

// crowded measures a process with many concurrent listens. read returns the result from the outcome
// of the process.
func crowded(name, title, unit string, most float64, read func(outcome) float64) measure {
	return measure{name: name, title: title, unit: unit, fixed: most, ours: func(l *lab) (float64, error) {
		dir, err := l.listener("ask", crowdQuestions, crowd, crowdProgram)
		if err != nil {
			return 0, err
		}
		p, err := l.process(dir, l.bin("concerto"), "run", "--progress", "none")
		if err != nil {
			return 0, err
		}
		if got := lastLine(p.out); got != fmt.Sprint(crowd*crowdQuestions) {
			return 0, fmt.Errorf("the program answered %q questions, want %d", got, crowd*crowdQuestions)
		}
		return read(p), nil
	}}
}

func lastLine(out string) string { return out[strings.LastIndexByte(out, '\n')+1:] }

// messages returns the number of messages that the host of a listen benchmark sends.
func messages(mode string) int {
	switch mode {
	case "flood":
		return 400_000
	case "large":
		return 4_000
	}
	return 20_000
}

// host builds the host of the listen benchmarks.
func (l *lab) host() error {
	out, err := exec.Command("cc", "-O2", "-o", l.bin("chost"), filepath.Join(l.root, "bench", "chost", "host.c")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the host of the listen benchmarks, which needs a C compiler as cc: %w\n%s", err, out)
	}
	return nil
}

// listener writes a project that listens to n host processes, and returns its directory.
func (l *lab) listener(mode string, n, instances int, program string) (string, error) {
	if err := l.host(); err != nil {
		return "", err
	}
	dir := l.bin(fmt.Sprintf("project-%s-%d", mode, instances))
	manifest := fmt.Sprintf("[project]\nname = %q\nentry = \"main.conc\"\n\n[hosts.worker]\ncommand = %q\nargs = [%q, \"%d\"]\ninstances = %d\n",
		mode, l.bin("chost"), mode, n, instances)
	return dir, writeProject(dir, map[string]string{"Concerto.toml": manifest, "main.conc": program})
}

const listenProgram = `host Worker { connector: worker, output_format: "json", timeout: 300 }

fn main() {
    let mut count = 0;
    let mut sum = 0;
    let r = listen Worker.execute("go") {
        "progress" => |p: HostProgress| {
            count += 1;
            sum += p.percent ?? 0;
        },
        "question" => |_| {
            count += 1;
            "left"
        },
        "approval" => |_| "yes",
    };
    println("${count} ${sum}");
    if r.is_err() { panic("the host failed"); }
}
`

const crowdProgram = `host Worker { connector: worker, output_format: "json", timeout: 300 }

fn talk() -> Int {
    let mut count = 0;
    let r = listen Worker.execute("go") {
        "question" => |_| {
            count += 1;
            "left"
        },
        "approval" => |_| "yes",
    };
    if r.is_err() { panic("the host failed"); }
    count
}

fn main() {
    let mut sum = 0;
    for n in parallel for _i in 0..1000 { talk() } { sum += n; }
    println("${sum}");
}
`
