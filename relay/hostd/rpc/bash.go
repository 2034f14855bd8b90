package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Limits of a bash command.
const (
	maxStream   = 200_000 // maximum size of each output stream in bytes
	bashTimeout = 120 * time.Second
)

// findProgram searches for a program in the machine's PATH.
func (d *Dispatcher) findProgram(name string) (string, error) {
	path, err := procgroup.Find(name, "", d.o.Environ)
	if err != nil {
		return "", errorf(protocol.MissingDependency, "%s is not installed on the machine", name)
	}
	return path, nil
}

// runBash runs a command with an empty input and the standard inherited environment. It kills the
// command and its child processes when the command exits, on timeout, and when ctx is done.
func (d *Dispatcher) runBash(ctx context.Context, path, cwd string, q protocol.Bash) (*protocol.BashResult, error) {
	within := bashTimeout
	if q.TimeoutS != nil {
		within = time.Duration(*q.TimeoutS) * time.Second
	}
	timed, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	environ, _ := procgroup.Inherit{}.Of(d.o.Environ)
	var stdout, stderr limitedBuffer
	p, err := procgroup.Start(procgroup.Command{Path: path, Args: []string{"-lc", q.Cmd}, Env: environ, Dir: cwd, Errors: func(b []byte) { _, _ = stderr.Write(b) }})
	if err != nil {
		return nil, err
	}
	_ = p.Stdin.Close() // the input of the command is empty
	stop := context.AfterFunc(timed, p.Kill)
	defer stop()
	_, _ = io.Copy(&stdout, p.Stdout) // returns when the process has closed its output
	p.End(0, nil)
	exit := p.Exit()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	done := &protocol.BashResult{ExitCode: int64(exit.Code), TimedOut: errors.Is(timed.Err(), context.DeadlineExceeded)}
	done.Stdout, done.Stderr = stdout.text(), stderr.text()
	done.Truncated = stdout.cut || stderr.cut
	return done, nil
}

// limitedBuffer stores the first bytes that are written to it, up to a limit.
type limitedBuffer struct {
	b   bytes.Buffer
	cut bool
}

func (s *limitedBuffer) Write(b []byte) (int, error) {
	n := min(len(b), maxStream-s.b.Len())
	s.b.Write(b[:n])
	s.cut = s.cut || n < len(b)
	return len(b), nil
}

// text returns the stored bytes as valid UTF-8. Replacement characters may make the text longer
// than the limit, so text cuts it again.
func (s *limitedBuffer) text() string {
	text := s.b.String()
	if s.cut {
		text = trimPartial(text)
	}
	valid := strings.ToValidUTF8(text, "\ufffd")
	if len(valid) > maxStream {
		s.cut = true
		valid = cut(valid, maxStream)
	}
	return valid
}

// trimPartial removes an incomplete UTF-8 character at the end of a text.
func trimPartial(text string) string {
	for n := 1; n <= min(4, len(text)); n++ {
		if c := text[len(text)-n]; c < 0x80 {
			return text
		} else if c >= 0xc0 {
			if n < runeLen(c) {
				return text[:len(text)-n]
			}
			return text
		}
	}
	return text
}

// runeLen returns the length in bytes of a UTF-8 character that begins with a byte.
func runeLen(first byte) int {
	switch {
	case first >= 0xf0:
		return 4
	case first >= 0xe0:
		return 3
	}
	return 2
}
