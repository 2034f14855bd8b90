package hostscript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// ExitMismatch is the exit code of a host whose input does not match its script.
const ExitMismatch = 9

// Process is what a script uses of the process that it plays.
type Process interface {
	// ReadLine waits for the next line of the input. It returns io.EOF at the end.
	ReadLine() (string, error)
	Write(text string)
	WriteStderr(line string)
	// Stopped returns a channel that is closed when the host is stopped.
	Stopped() <-chan struct{}
}

// Play plays the nth process of the host, from 0, and returns its exit code. The last script is
// also that of all further processes. name is the script's name in messages.
func (s *Script) Play(name string, n int, p Process) int {
	x := &player{process: p}
	err := x.run(s.processes[min(n, len(s.processes)-1)])
	if e, ok := errors.AsType[exit](err); ok {
		return e.code
	}
	if err != nil && !errors.Is(err, errEnded) {
		p.WriteStderr(name + ": " + err.Error())
		return ExitMismatch
	}
	for err == nil {
		_, err = p.ReadLine()
	}
	return 0
}

// exit ends the script with an exit code.
type exit struct{ code int }

func (e exit) Error() string { return "exit " + strconv.Itoa(e.code) }

// errEnded means that the input has ended where a serve block may end.
var errEnded = errors.New("the input has ended")

// player plays the steps of one process.
type player struct {
	process Process
	ahead   *string // line that was read to find out whether the input has ended
	line    string  // last line of the input
	last    any     // decoded line; nil if it is not JSON
}

func (p *player) run(steps []step) error {
	for i := range steps {
		s := &steps[i]
		err := p.step(s)
		if _, ok := errors.AsType[exit](err); ok || errors.Is(err, errEnded) {
			return err
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", s.line, s.op, err)
		}
	}
	return nil
}

func (p *player) step(s *step) error {
	switch s.op {
	case "batch":
		return p.run(s.body)
	case "repeat":
		n, err := strconv.Atoi(strings.TrimSpace(s.arg))
		for i := 0; i < n && err == nil; i++ {
			err = p.run(s.body)
		}
		return err
	case "serve":
		for {
			if line, err := p.next(); err != nil {
				return errEnded
			} else {
				p.ahead = &line
			}
			if err := p.run(s.body); err != nil {
				return err
			}
		}
	}
	return operations[s.op](p, s.arg)
}

// next returns the next line of the input.
func (p *player) next() (string, error) {
	if l := p.ahead; l != nil {
		p.ahead = nil
		return *l, nil
	}
	return p.process.ReadLine()
}

// read reads the next line.
func (p *player) read() error {
	l, err := p.next()
	if err == io.EOF {
		return errors.New("the input has ended")
	}
	p.line, p.last = l, nil
	if v, err := decode(l); err == nil {
		p.last = v
	}
	return err
}

// operations maps the names of the steps without a body to their functions.
var operations map[string]func(p *player, arg string) error

func init() {
	operations = map[string]func(*player, string) error{
		">":      func(p *player, arg string) error { return p.expect(arg, false) },
		">~":     func(p *player, arg string) error { return p.expect(arg, true) },
		">=":     expectText,
		"read":   func(p *player, _ string) error { return p.read() },
		"eof":    expectEnd,
		"<":      func(p *player, arg string) error { return p.send(arg + "\n") },
		"raw":    func(p *player, arg string) error { return p.send(arg) },
		"crlf":   func(p *player, arg string) error { return p.send(arg + "\r\n") },
		"stderr": func(p *player, arg string) error { p.process.WriteStderr(arg); return nil },
		"exit":   exitWith,
		"hang":   func(p *player, _ string) error { <-p.process.Stopped(); return errEnded },
	}
}

func exitWith(_ *player, arg string) error {
	n, err := strconv.Atoi(strings.TrimSpace(arg))
	if err != nil {
		return err
	}
	return exit{n}
}

func expectText(p *player, arg string) error {
	err := p.read()
	if err == nil && p.line != arg {
		err = fmt.Errorf("want %q, got %.2000q", arg, p.line)
	}
	return err
}

func expectEnd(p *player, _ string) error {
	l, err := p.next()
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("want the end of the input, got %.2000s", l)
}

// expect reads the next line and compares it as JSON. With more, objects of the line may have
// further members.
func (p *player) expect(arg string, more bool) error {
	want, err := decode(arg)
	if err != nil {
		return fmt.Errorf("the line of the script is not JSON: %w", err)
	}
	if err := p.read(); err != nil {
		return fmt.Errorf("%w; want %s", err, arg)
	}
	if p.last == nil && p.line != "null" || !fits(p.last, want, more) {
		return fmt.Errorf("want %s, got %.2000s", arg, p.line)
	}
	return nil
}

func (p *player) send(text string) error {
	out, err := p.expand(text)
	if err == nil {
		p.process.Write(out)
	}
	return err
}

// expand replaces the references to the last line of the input.
func (p *player) expand(text string) (string, error) {
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(text, "${")
		b.WriteString(head)
		if !ok {
			return b.String(), nil
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("%q lacks a }", rest)
		}
		text = after
		v, err := p.lookup(name)
		if err != nil {
			return "", err
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		b.Write(encoded)
	}
}

// lookup returns the value of a reference.
func (p *player) lookup(name string) (any, error) {
	if name == "line" {
		return p.line, nil
	}
	path, ok := strings.CutPrefix(name, ".")
	if !ok {
		return nil, fmt.Errorf("unknown reference ${%s}", name)
	}
	v := p.last
	for path != "" {
		var member string
		member, path, _ = strings.Cut(path, ".")
		o, isObject := v.(map[string]any)
		if v, ok = o[member]; !isObject || !ok {
			return nil, fmt.Errorf("the last line has no member %s", name)
		}
	}
	return v, nil
}

// decode parses one JSON text and preserves the notation of its numbers.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// fits reports whether a value equals another one. 1 and 1.0 are equal. With more, objects of got
// may have further members.
func fits(got, want any, more bool) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) < len(w) || !more && len(g) != len(w) {
			return false
		}
		for name, wanted := range w {
			if v, ok := g[name]; !ok || !fits(v, wanted, more) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !fits(g[i], w[i], more) {
				return false
			}
		}
		return true
	case json.Number:
		g, ok := got.(json.Number)
		return ok && sameNumber(string(g), string(w))
	}
	return got == want
}

func sameNumber(a, b string) bool {
	x, isX := new(big.Rat).SetString(a)
	y, isY := new(big.Rat).SetString(b)
	return a == b || isX && isY && x.Cmp(y) == 0
}
