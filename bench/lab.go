package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// newLab builds the binaries into a scratch directory.
func newLab() (*lab, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	dir, err := os.MkdirTemp("", "concerto-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir, root: filepath.Dir(strings.TrimSpace(string(out)))}
	for name, pkg := range map[string]string{"concerto": "./cmd/concerto", "empty": "./bench/empty", "host": "./bench/host", "peer": "./bench/peer"} {
		cmd := exec.Command("go", "build", "-o", l.bin(name), pkg)
		cmd.Dir = l.root
		if text, err := cmd.CombinedOutput(); err != nil {
			os.RemoveAll(dir)
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, text)
		}
	}
	return l, l.projects()
}

// projects writes the programs that the listen benchmarks run.
func (l *lab) projects() error {
	for _, mode := range []string{"flood", "ask"} {
		dir := l.bin("project-" + mode)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		manifest := fmt.Sprintf("[project]\nname = %q\nentry = \"main.conc\"\n\n[hosts.worker]\ncommand = %q\nargs = [%q, \"%d\"]\n",
			mode, l.bin("host"), mode, messages(mode))
		if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(manifest), 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(listenProgram), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// messages is how many messages a listen benchmark sends.
func messages(mode string) int {
	if mode == "flood" {
		return 400_000
	}
	return 20_000
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

// program is the path of one of bench/programs.
func (l *lab) program(name string) string { return filepath.Join(l.root, "bench", "programs", name) }

// process runs a command and gives its wall time and its CPU time, both in
// milliseconds, and what it printed.
func process(dir, name string, args ...string) (wall, cpu float64, out string, err error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	text, err := cmd.Output()
	wall = float64(time.Since(start).Microseconds()) / 1000
	if err != nil {
		var missing *exec.Error
		if errors.As(err, &missing) {
			return 0, 0, "", fmt.Errorf("%s is not installed", name)
		}
		return 0, 0, "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	state := cmd.ProcessState
	return wall, float64((state.UserTime() + state.SystemTime()).Microseconds()) / 1000, strings.TrimSpace(string(text)), nil
}

// best repeats a short measurement and keeps the least.
func best(times int, f func() (float64, error)) (float64, error) {
	least := 0.0
	for range times {
		v, err := f()
		if err != nil {
			return 0, err
		}
		if least == 0 || v < least {
			least = v
		}
	}
	return least, nil
}
