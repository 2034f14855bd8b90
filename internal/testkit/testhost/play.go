package testhost

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/playground/hostscript"
)

// process is this process as the host of a script.
type process struct {
	script string
	args   []string
	in     *bufio.Reader
	record *os.File
}

func newProcess(script string, args []string) *process {
	// the script's files are in its directory, independent of the working directory
	if abs, err := filepath.Abs(script); err == nil {
		script = abs
	}
	return &process{script: script, args: args, in: bufio.NewReaderSize(os.Stdin, 64<<10)}
}

// reportMismatch reports that the input does not match the script.
func (p *process) reportMismatch(err error) {
	message := err.Error() + "\n"
	fmt.Fprint(os.Stderr, "testhost: ", filepath.Base(p.script), ": ", message)
	if err := appendFile(p.script+".fail", message); err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
	}
}

// The methods of hostscript.Process.

func (p *process) ReadLine() (string, error) {
	l, err := p.in.ReadString('\n')
	if err != nil {
		if l != "" {
			return "", fmt.Errorf("the last line in has no end: %.200q", l)
		}
		return "", io.EOF
	}
	if p.record == nil {
		p.record, err = os.OpenFile(p.script+".in", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return "", err
		}
	}
	if _, err := p.record.WriteString(l); err != nil {
		return "", err
	}
	return strings.TrimSuffix(l, "\n"), nil
}

func (p *process) Write(text string) error {
	_, err := os.Stdout.WriteString(text)
	return err
}

func (p *process) WriteStderr(line string) error {
	_, err := fmt.Fprintln(os.Stderr, line)
	return err
}

// Stopped returns no channel, because a signal ends the process.
func (p *process) Stopped() <-chan struct{} { return nil }

func (p *process) Lookup(name string) (any, bool) {
	switch name {
	case "pid":
		return os.Getpid(), true
	case "args":
		return p.args, true
	case "cwd":
		dir, err := os.Getwd()
		return dir, err == nil
	}
	name, ok := strings.CutPrefix(name, "env.")
	if v, set := os.LookupEnv(name); ok && set {
		return v, true
	}
	return nil, ok
}

func (p *process) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.script), name)
}

// operations maps the names of the additional steps to their functions.
func (p *process) operations() map[string]hostscript.Operation {
	// alone is a step without output
	alone := func(do func(arg string) error) hostscript.Operation {
		return func(_ *hostscript.Player, arg string) error { return do(arg) }
	}
	return map[string]hostscript.Operation{
		"bytes":          sendBytes,
		"big":            sendBig,
		"nest":           sendNest,
		"drip":           sendDrip,
		"flood":          sendFlood,
		"write":          p.writeFile(os.O_TRUNC),
		"append":         p.writeFile(os.O_APPEND),
		"stderr-flood":   alone(floodStderr),
		"await":          alone(p.awaitFile),
		"now":            alone(p.noteTime),
		"stop":           alone(func(string) error { return stopSelf() }),
		"kill":           alone(killSelf),
		"close-stdout":   alone(func(string) error { return os.Stdout.Close() }),
		"close-stdin":    alone(func(string) error { return os.Stdin.Close() }),
		"ignore-sigterm": alone(func(string) error { ignoreTerm(); return nil }),
		"on-sigterm":     alone(func(arg string) error { noteTerm(p.path(arg)); return nil }),
		"use-memory":     alone(func(arg string) error { return useMemory(p, arg) }),
		"use-cpu":        alone(func(arg string) error { return useCPU(p, arg) }),
		"use-processes":  alone(func(arg string) error { return useProcesses(p, arg) }),
		"spawn-grandchild": alone(func(arg string) error {
			name, flags, _ := strings.Cut(arg, " ")
			return spawnGrandchild(p.path(name), flags)
		}),
	}
}

func sendBytes(p *hostscript.Player, arg string) error {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(arg), " ", ""))
	if err != nil {
		return err
	}
	return p.Write(string(b))
}

func sendBig(p *hostscript.Player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	short, err := p.Expand(text, map[string]string{"fill": ""})
	if err != nil {
		return err
	}
	if len(short) > n || !strings.Contains(text, "${fill}") {
		return fmt.Errorf("%q cannot be filled to %d bytes", short, n)
	}
	head, tail, _ := strings.Cut(text, "${fill}")
	for _, part := range []*string{&head, &tail} {
		if *part, err = p.Expand(*part, nil); err != nil {
			return err
		}
	}
	if err := p.Write(head); err != nil {
		return err
	}
	fill := strings.Repeat("x", min(n-len(short), 1<<20))
	for left := n - len(short); left > 0; left -= len(fill) {
		if err := p.Write(fill[:min(left, len(fill))]); err != nil {
			return err
		}
	}
	return p.Write(tail + "\n")
}

func sendNest(p *hostscript.Player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	return p.Write(strings.ReplaceAll(text, "${nest}", strings.Repeat("[", n)+strings.Repeat("]", n)) + "\n")
}

func sendDrip(p *hostscript.Player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	for i := range len(text) {
		if i > 0 && i <= n {
			time.Sleep(time.Second)
		}
		if err := p.Write(text[i : i+1]); err != nil {
			return err
		}
	}
	return p.Write("\n")
}

func floodStderr(arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	lines := strings.Repeat(text+"\n", min(n, 1000))
	for ; n > 0; n -= 1000 {
		if _, err := os.Stderr.WriteString(lines[:min(n, 1000)*(len(text)+1)]); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) noteTime(arg string) error {
	return os.WriteFile(p.path(arg), fmt.Appendln(nil, time.Now().UnixNano()), 0o644)
}

func sendFlood(p *hostscript.Player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := range n {
		l, err := p.Expand(text, map[string]string{"i": strconv.Itoa(i)})
		if err != nil {
			return err
		}
		b.WriteString(l + "\n")
		if b.Len() > 32<<10 || i == n-1 {
			if err := p.Write(b.String()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return nil
}

func number(arg string) (int, string, error) {
	first, rest, _ := strings.Cut(arg, " ")
	n, err := strconv.Atoi(first)
	return n, rest, err
}

// writeFile returns the step that writes a file, opened with the flag.
func (p *process) writeFile(flag int) hostscript.Operation {
	return func(player *hostscript.Player, arg string) error {
		name, text, _ := strings.Cut(arg, " ")
		text, err := player.Expand(text, nil)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(p.path(name), os.O_CREATE|os.O_WRONLY|flag, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString(text + "\n")
		return err
	}
}

func appendFile(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// awaitFile waits until a file exists. It polls, because any process may create the file. It has no
// timeout: it waits until the test closes the input or the lifetime of the host ends.
func (p *process) awaitFile(arg string) error {
	for parent := os.Getppid(); os.Getppid() == parent; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(p.path(arg)); err == nil {
			return nil
		}
	}
	return errors.New("it never came")
}
