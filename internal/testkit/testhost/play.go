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
)

// player plays a script.
type player struct {
	script string
	args   []string
	in     *bufio.Reader
	line   string // the last input line
	last   any    // decoded last input line; nil if it is not JSON
	record *os.File
	batch  *strings.Builder // output of the current batch; nil outside of a batch
}

// stop is the error that ends the script with an exit code.
type stop struct{ code int }

func (s stop) Error() string { return "exit " + strconv.Itoa(s.code) }

// errEnded reports the end of the input at a step where a serve loop may end.
var errEnded = errors.New("the input has ended")

func newPlayer(script string, args []string) *player {
	// the script's files are in its directory, independent of the working directory
	if abs, err := filepath.Abs(script); err == nil {
		script = abs
	}
	return &player{script: script, args: args, in: bufio.NewReaderSize(os.Stdin, 64<<10)}
}

// play runs the steps, then reads the input to its end.
func (p *player) play(steps []step) int {
	err := p.run(steps)
	var s stop
	switch {
	case errors.As(err, &s):
		return s.code
	case err != nil && !errors.Is(err, errEnded):
		return p.mismatch("%v", err)
	}
	for {
		if _, err := p.read(); err != nil {
			return 0
		}
	}
}

func (p *player) run(steps []step) error {
	for i := range steps {
		s := &steps[i]
		if err := p.step(s); err != nil {
			var st stop
			if errors.As(err, &st) || errors.Is(err, errEnded) {
				return err
			}
			return fmt.Errorf("line %d: %s: %w", s.line, s.op, err)
		}
	}
	return nil
}

func (p *player) step(s *step) error {
	switch s.op {
	case "repeat":
		n, err := strconv.Atoi(strings.TrimSpace(s.arg))
		if err != nil {
			return err
		}
		for range n {
			if err := p.run(s.body); err != nil {
				return err
			}
		}
		return nil
	case "batch":
		var b strings.Builder
		p.batch = &b
		err := p.run(s.body)
		p.batch = nil
		if err != nil {
			return err
		}
		return p.write(b.String())
	case "serve":
		for {
			if _, err := p.in.Peek(1); err != nil {
				return errEnded
			}
			if err := p.run(s.body); err != nil {
				return err
			}
		}
	}
	return ops[s.op](p, s.arg)
}

// mismatch reports that the input does not match the script.
func (p *player) mismatch(format string, args ...any) int {
	msg := fmt.Sprintf(format, args...) + "\n"
	fmt.Fprint(os.Stderr, "testhost: ", filepath.Base(p.script), ": ", msg)
	if err := appendFile(p.script+".fail", msg); err != nil {
		fmt.Fprintln(os.Stderr, "testhost:", err)
	}
	return ExitMismatch
}

// read reads the next line. It returns io.EOF at the end of the input.
func (p *player) read() (string, error) {
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
	p.line = strings.TrimSuffix(l, "\n")
	p.last, err = decode(p.line)
	if err != nil {
		p.last = nil
	}
	return p.line, nil
}

// requireLine reads a line that the script requires.
func (p *player) requireLine() (string, error) {
	l, err := p.read()
	if err == io.EOF {
		return "", errors.New("the input has ended")
	}
	return l, err
}

func (p *player) write(s string) error {
	if p.batch != nil {
		p.batch.WriteString(s)
		return nil
	}
	_, err := os.Stdout.WriteString(s)
	return err
}

func (p *player) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.script), name)
}

// ops maps the names of steps without a body to their functions.
var ops map[string]func(p *player, arg string) error

func init() {
	ops = map[string]func(*player, string) error{
		">":              expectJSON,
		">~":             expectMembers,
		">=":             expectText,
		"read":           func(p *player, _ string) error { _, err := p.requireLine(); return err },
		"eof":            expectEnd,
		"<":              func(p *player, arg string) error { return p.send(arg, "\n") },
		"raw":            func(p *player, arg string) error { return p.send(arg, "") },
		"crlf":           func(p *player, arg string) error { return p.send(arg, "\r\n") },
		"bytes":          sendBytes,
		"big":            sendBig,
		"nest":           sendNest,
		"drip":           sendDrip,
		"flood":          sendFlood,
		"stderr":         func(_ *player, arg string) error { _, err := fmt.Fprintln(os.Stderr, arg); return err },
		"write":          func(p *player, arg string) error { return p.exitAs(arg, os.O_TRUNC) },
		"append":         func(p *player, arg string) error { return p.exitAs(arg, os.O_APPEND) },
		"stderr-flood":   floodStderr,
		"await":          awaitFile,
		"now":            noteTime,
		"stop":           func(*player, string) error { return stopSelf() },
		"exit":           exit,
		"kill":           func(_ *player, arg string) error { return killSelf(arg) },
		"hang":           func(*player, string) error { select {} },
		"close-stdout":   func(*player, string) error { return os.Stdout.Close() },
		"close-stdin":    func(*player, string) error { return os.Stdin.Close() },
		"ignore-sigterm": func(*player, string) error { ignoreTerm(); return nil },
		"on-sigterm":     func(p *player, arg string) error { noteTerm(p.path(arg)); return nil },
		"use-memory":     useMemory,
		"use-cpu":        useCPU,
		"use-processes":  useProcesses,
		"spawn-grandchild": func(p *player, arg string) error {
			name, flags, _ := strings.Cut(arg, " ")
			return spawnGrandchild(p.path(name), flags)
		},
	}
}

func exit(_ *player, arg string) error {
	n, err := strconv.Atoi(strings.TrimSpace(arg))
	if err != nil {
		return err
	}
	return stop{n}
}

func expectEnd(p *player, _ string) error {
	switch l, err := p.read(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("want the end of the input, got %.2000s", l)
	}
}

func expectText(p *player, arg string) error {
	l, err := p.requireLine()
	if err == nil && l != arg {
		err = fmt.Errorf("want %q, got %.2000q", arg, l)
	}
	return err
}

func expectJSON(p *player, arg string) error { return p.compare(arg, isEqual) }

func expectMembers(p *player, arg string) error { return p.compare(arg, contains) }

func (p *player) compare(arg string, fits func(got, want any) bool) error {
	want, err := decode(arg)
	if err != nil {
		return fmt.Errorf("the script's line is no JSON: %w", err)
	}
	l, err := p.requireLine()
	if err != nil {
		return fmt.Errorf("%w; want %s", err, arg)
	}
	if got, err := decode(l); err != nil || !fits(got, want) {
		return fmt.Errorf("want %s, got %.2000s", arg, l)
	}
	return nil
}

func (p *player) send(text, end string) error {
	s, err := p.expand(text, nil)
	if err != nil {
		return err
	}
	return p.write(s + end)
}

func sendBytes(p *player, arg string) error {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(arg), " ", ""))
	if err != nil {
		return err
	}
	return p.write(string(b))
}

func sendBig(p *player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	short, err := p.expand(text, map[string]string{"fill": ""})
	if err != nil {
		return err
	}
	if len(short) > n || !strings.Contains(text, "${fill}") {
		return fmt.Errorf("%q cannot be filled to %d bytes", short, n)
	}
	head, tail, _ := strings.Cut(text, "${fill}")
	for _, part := range []*string{&head, &tail} {
		if *part, err = p.expand(*part, nil); err != nil {
			return err
		}
	}
	if err := p.write(head); err != nil {
		return err
	}
	fill := strings.Repeat("x", min(n-len(short), 1<<20))
	for left := n - len(short); left > 0; left -= len(fill) {
		if err := p.write(fill[:min(left, len(fill))]); err != nil {
			return err
		}
	}
	return p.write(tail + "\n")
}

func sendNest(p *player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	return p.write(strings.ReplaceAll(text, "${nest}", strings.Repeat("[", n)+strings.Repeat("]", n)) + "\n")
}

func sendDrip(p *player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	for i := range len(text) {
		if i > 0 && i <= n {
			time.Sleep(time.Second)
		}
		if err := p.write(text[i : i+1]); err != nil {
			return err
		}
	}
	return p.write("\n")
}

func floodStderr(_ *player, arg string) error {
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

func noteTime(p *player, arg string) error {
	return os.WriteFile(p.path(arg), fmt.Appendln(nil, time.Now().UnixNano()), 0o644)
}

func sendFlood(p *player, arg string) error {
	n, text, err := number(arg)
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := range n {
		l, err := p.expand(text, map[string]string{"i": strconv.Itoa(i)})
		if err != nil {
			return err
		}
		b.WriteString(l + "\n")
		if b.Len() > 32<<10 || i == n-1 {
			if err := p.write(b.String()); err != nil {
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

func (p *player) exitAs(arg string, mode int) error {
	name, text, _ := strings.Cut(arg, " ")
	s, err := p.expand(text, nil)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(p.path(name), os.O_CREATE|os.O_WRONLY|mode, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(s + "\n")
	return err
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
func awaitFile(p *player, arg string) error {
	for parent := os.Getppid(); os.Getppid() == parent; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(p.path(arg)); err == nil {
			return nil
		}
	}
	return errors.New("it never came")
}
