package main

import (
	"fmt"
	"strings"
)

// listening compares the messages per second of a listen with those of a bare Go
// program, both with the same host.
func listening(name, title, mode string) measure {
	n := messages(mode)
	rate := func(p outcome) float64 { return float64(n) / p.wall * 1000 }
	answered := func(out string) error {
		if !strings.HasPrefix(out, fmt.Sprint(n)+" ") {
			return fmt.Errorf("counted %q, want %d messages", out, n)
		}
		return nil
	}
	return measure{name: name, title: title, unit: "messages/s", rate: true, peers: "bare Go", target: 0.7,
		ours: func(l *lab) (float64, error) {
			dir, err := l.listener(mode)
			if err != nil {
				return 0, err
			}
			p, err := l.process(dir, l.bin("concerto"), "run")
			if err != nil {
				return 0, err
			}
			lines := strings.Split(p.out, "\n")
			return rate(p), answered(lines[len(lines)-1])
		},
		peer: func(l *lab) (float64, error) {
			p, err := l.process(l.dir, l.bin("peer"), l.bin("host"), mode, fmt.Sprint(n))
			if err != nil {
				return 0, err
			}
			return rate(p), answered(p.out)
		},
	}
}

// messages is how many messages a listen benchmark sends.
func messages(mode string) int {
	if mode == "flood" {
		return 400_000
	}
	return 20_000
}

// listener writes the project that listens, and gives its directory.
func (l *lab) listener(mode string) (string, error) {
	dir := l.bin("project-" + mode)
	manifest := fmt.Sprintf("[project]\nname = %q\nentry = \"main.conc\"\n\n[hosts.worker]\ncommand = %q\nargs = [%q, \"%d\"]\n",
		mode, l.bin("host"), mode, messages(mode))
	return dir, writeProject(dir, map[string]string{"Concerto.toml": manifest, "main.conc": listenProgram})
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
