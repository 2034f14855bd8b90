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

// Process is the process that a script plays.
type Process interface {
	// ReadLine waits for the next line of the input. It returns io.EOF at the end.
	ReadLine() (string, error)
	Write(text string) error
	WriteStderr(line string) error
	// Stopped returns a channel that is closed when the host is stopped.
	Stopped() <-chan struct{}
	// Lookup returns the value of a reference ${name} that is not to the last line.
	Lookup(name string) (v any, ok bool)
}

// Play plays the nth process of the host, from 0, and returns its exit code. The last script is
// also that of all further processes. The error explains ExitMismatch.
func (s *Script) Play(n int, process Process) (code int, err error) {
	p := &Player{process: process}
	err = p.run(s.processes[min(n, len(s.processes)-1)])
	if e, ok := errors.AsType[exit](err); ok {
		return e.code, nil
	}
	if err != nil && !errors.Is(err, errEnded) {
		return ExitMismatch, err
	}
	for err == nil {
		_, err = process.ReadLine()
	}
	return 0, nil
}

// exit ends the script with an exit code.
type exit struct{ code int }

func (e exit) Error() string { return "exit " + strconv.Itoa(e.code) }

// errEnded means that the input has ended where a serve block may end.
var errEnded = errors.New("the input has ended")

// Player plays the steps of one process.
type Player struct {
	process Process
	batch   *strings.Builder // output of the current batch; nil outside of a batch
	ahead   *string          // line that was read to find out whether the input has ended
	line    string           // last line of the input
	last    any              // decoded line; nil if it is not JSON
}

func (p *Player) run(steps []step) error {
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

func (p *Player) step(s *step) error {
	switch s.op {
	case "batch":
		outer, b := p.batch, &strings.Builder{}
		p.batch = b
		err := p.run(s.body)
		p.batch = outer
		if err != nil {
			return err
		}
		return p.Write(b.String())
	case "repeat":
		n, err := strconv.Atoi(strings.TrimSpace(s.arg))
		for i := 0; i < n && err == nil; i++ {
			err = p.run(s.body)
		}
		return err
	case "when", "unless":
		want, err := decode(s.arg)
		if err != nil {
			return fmt.Errorf("the line of the script is not JSON: %w", err)
		}
		if fits(p.last, want, true) != (s.op == "when") {
			return nil
		}
		return p.run(s.body)
	case "serve":
		for {
			line, err := p.next()
			if err == io.EOF {
				return errEnded
			}
			if err == nil {
				p.ahead = &line
				err = p.run(s.body)
			}
			if err != nil {
				return err
			}
		}
	}
	return s.do(p, s.arg)
}

// Write writes text to the output.
func (p *Player) Write(text string) error {
	if p.batch != nil {
		p.batch.WriteString(text)
		return nil
	}
	return p.process.Write(text)
}

// next returns the next line of the input.
func (p *Player) next() (string, error) {
	if l := p.ahead; l != nil {
		p.ahead = nil
		return *l, nil
	}
	return p.process.ReadLine()
}

// read reads the next line.
func (p *Player) read() error {
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
var operations = map[string]Operation{
	">":      func(p *Player, arg string) error { return p.expect(arg, false) },
	">~":     func(p *Player, arg string) error { return p.expect(arg, true) },
	">=":     expectText,
	"read":   func(p *Player, _ string) error { return p.read() },
	"eof":    expectEnd,
	"<":      func(p *Player, arg string) error { return p.send(arg + "\n") },
	"raw":    (*Player).send,
	"crlf":   func(p *Player, arg string) error { return p.send(arg + "\r\n") },
	"stderr": func(p *Player, arg string) error { return p.process.WriteStderr(arg) },
	"exit":   exitWith,
	"hang":   func(p *Player, _ string) error { <-p.process.Stopped(); return errEnded },
}

func exitWith(_ *Player, arg string) error {
	n, err := strconv.Atoi(strings.TrimSpace(arg))
	if err != nil {
		return err
	}
	return exit{n}
}

func expectText(p *Player, arg string) error {
	err := p.read()
	if err == nil && p.line != arg {
		err = fmt.Errorf("want %q, got %.2000q", arg, p.line)
	}
	return err
}

func expectEnd(p *Player, _ string) error {
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
func (p *Player) expect(arg string, more bool) error {
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

func (p *Player) send(text string) error {
	out, err := p.Expand(text, nil)
	if err != nil {
		return err
	}
	return p.Write(out)
}

// Expand replaces the references ${name} in text. The values of more replace theirs as they are;
// other values are written as JSON.
func (p *Player) Expand(text string, more map[string]string) (string, error) {
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
		if v, ok := more[name]; ok {
			b.WriteString(v)
			continue
		}
		v, ok := p.lookup(name)
		if !ok {
			return "", fmt.Errorf("unknown reference ${%s}", name)
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		b.Write(encoded)
	}
}

// lookup returns the value of a reference.
func (p *Player) lookup(name string) (v any, ok bool) {
	if name == "line" {
		return p.line, true
	}
	path, ok := strings.CutPrefix(name, ".")
	if !ok {
		return p.process.Lookup(name)
	}
	v = p.last
	for path != "" {
		var member string
		member, path, _ = strings.Cut(path, ".")
		members, _ := v.(map[string]any)
		v = members[member]
	}
	return v, true
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
