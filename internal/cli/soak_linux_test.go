package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// soaking is a program that sends prompts to a host, which crashes once a second, for a given time.
// After a crash it repeats the prompt. Each answer must belong to its prompt.
const soaking = `
host W { connector: w, output_format: "json", timeout: 60 }

fn main() {
    let until = std::time::monotonic_ms() + std::env::args()[0].parse_int()?;
    let mut n = 0;
    let mut died = 0;
    while std::time::monotonic_ms() < until {
        let r = listen W.execute("${n}") { "question" => |q| "to ${q.question}", "approval" => |a| "no" };
        match r {
            Ok(m) => {
                if m.text != "to ${n}" { emit("wrong", [n, m.text]); }
                n += 1;
            },
            Err(e) => {
                if !e.message.starts_with("host exited without result: ") { emit("odd", e.message); }
                died += 1;
            },
        }
    }
    emit("asked", n);
    emit("died", died);
    while !std::fs::exists("over") { std::time::sleep(50); }
}
`

// soak is the host of the program soaking. It appends each answered prompt to a file, one per line.
func soak() {
	file, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	next := func() (m struct{ Text, Value string }) {
		if !lines.Scan() {
			os.Exit(0)
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		return m
	}
	for began, n := time.Now(), 0; ; n++ {
		prompt := next().Text
		die := time.Since(began) > time.Second && n > 0
		where, _ := strconv.Atoi(prompt)
		if die && where%2 == 0 {
			os.Exit(3) // crash after reading the prompt
		}
		fmt.Printf(`{"type":"question","id":1,"question":%q}`+"\n", prompt)
		value := next().Value
		if die {
			os.Exit(4) // crash after reading the answer
		}
		fmt.Fprintln(file, prompt)
		fmt.Printf(`{"type":"result","text":%q}`+"\n", value)
		time.Sleep(2 * time.Millisecond)
	}
}

// TestSoak runs the program soaking for the duration CONCERTO_SOAK (`make soak`: 30 minutes). No
// answer may be lost or doubled, and no zombie process may remain. After the first tenth, memory
// may grow by at most 5 MiB.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("CONCERTO_SOAK"))
	if err != nil {
		t.Skip("set CONCERTO_SOAK to the duration of the test")
	}
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(program))
	dir := programs(t, map[string]string{"main.conc": soaking, "Concerto.toml": "[hosts.w]\ncommand = \"soakhost\"\nargs = [\"answered\"]\n"})
	c := exec.Command(program, "run", "--progress", "none", "main.conc", "--", strconv.FormatInt(length.Milliseconds(), 10))
	c.Dir = dir
	var stderr bytes.Buffer
	c.Stderr = &stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	first, last := watchMemory(c.Process.Pid, length)
	counts := map[string]int{}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		name, rest, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "["), "] ")
		switch name {
		case "asked", "died":
			if counts[name], err = strconv.Atoi(rest); err != nil {
				t.Error(err)
			}
		case "wrong", "odd":
			t.Error(lines.Text())
		}
		if name == "died" { // the program has finished, and the run still exists
			if n := zombies(c.Process.Pid); n > 0 {
				t.Errorf("concerto has %d zombie processes", n)
			}
			if err := os.WriteFile(filepath.Join(dir, "over"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "answered"))
	if err != nil {
		t.Fatal(err)
	}
	answered := strings.Fields(string(text))
	for n, a := range answered {
		if a != strconv.Itoa(n) {
			t.Fatalf("answer number %d was sent for prompt %s", n, a)
		}
	}
	grown := <-last - <-first
	t.Logf("%v: %d answers, %d crashes, %d KiB more memory", length, counts["asked"], counts["died"], grown)
	if len(answered) != counts["asked"] || counts["died"] < int(length.Seconds()/4) {
		t.Errorf("the host sent %d answers, the program received %d; %d crashes; stderr:\n%s", len(answered), counts["asked"], counts["died"], stderr.String())
	}
	if grown > 5<<10 {
		t.Errorf("memory has grown by %d KiB", grown)
	}
}

// watchMemory sends the maximum resident memory of a process, in KiB, during the second and during
// the last tenth of length.
func watchMemory(pid int, length time.Duration) (first, last <-chan int) {
	a, b := make(chan int, 1), make(chan int, 1)
	go func() {
		began := time.Now()
		tick := time.NewTicker(min(time.Second, length/100))
		defer tick.Stop()
		var most [10]int
		for range tick.C {
			at := int(time.Since(began) * 10 / length)
			if at >= len(most) {
				break
			}
			most[at] = max(most[at], status(pid, "VmRSS:"))
		}
		a <- most[1]
		b <- most[9]
	}()
	return a, b
}

// status returns a numeric field of /proc/PID/status, or 0 if the field is missing.
func status(pid int, name string) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// zombies returns the number of a process's children that have exited but were not waited for.
func zombies(pid int) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, name := range all {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || status(child, "PPid:") != pid {
			continue
		}
		if text, _ := os.ReadFile(name); bytes.Contains(text, []byte("State:\tZ")) {
			n++
		}
	}
	return n
}
