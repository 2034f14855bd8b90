package emit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// maxInput is the maximum number of bytes that one request reads from standard input.
const maxInput = 256 << 20

// lineReader reads lines. Because a blocked read cannot be interrupted, a goroutine reads from the
// first request to the end of the input. If a request is cancelled before its line arrives, the
// next request receives the line.
type lineReader struct {
	in    io.Reader
	begin sync.Once
	lines chan string
	err   error // reason why there are no more lines; set before the channel lines is closed
	read  int   // number of lines read so far
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: in, lines: make(chan string)}
}

// nextLine returns the next line including its line end. It must not be called concurrently.
func (l *lineReader) nextLine(ctx context.Context) (string, error) {
	l.begin.Do(func() { go l.readLoop() })
	select {
	case line, ok := <-l.lines:
		if !ok {
			return "", l.err
		}
		l.read++
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (l *lineReader) readLoop() {
	defer close(l.lines)
	r := bufio.NewReader(l.in)
	for {
		line, err := readLine(r)
		if line != "" {
			l.lines <- line
		}
		if err != nil {
			l.err = err
			return
		}
	}
}

var errLongLine = errors.New("a line is longer than 256 MiB")

func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxInput:
			return "", errLongLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return string(line), err
		}
	}
}

// stdin is the standard input of a run if it is not a terminal. std::io reads from it, and its
// lines answer awaited emits. It is safe for concurrent use.
type stdin struct {
	turn  chan struct{}
	lines *lineReader
}

func newStdin(in io.Reader) *stdin {
	s := &stdin{turn: make(chan struct{}, 1), lines: newLineReader(in)}
	s.turn <- struct{}{}
	return s
}

// acquire waits for exclusive access. leave ends the access.
func (s *stdin) acquire(ctx context.Context) (leave func(), err error) {
	select {
	case <-s.turn:
		return func() { s.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Ask returns the next line. It shows no prompt, because the emit was printed before.
func (s *stdin) Ask(ctx context.Context, _ string) (string, error) {
	leave, err := s.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	line, err := s.readLine(ctx)
	return strings.TrimRight(line, "\r\n"), err
}

// readLine returns the next line including its line end.
func (s *stdin) readLine(ctx context.Context) (string, error) {
	line, err := s.lines.nextLine(ctx)
	if err == nil && !utf8.ValidString(line) {
		return "", fmt.Errorf("line %d is not UTF-8", s.lines.read)
	}
	return line, err
}

// readAll returns the rest of the input.
func (s *stdin) readAll(ctx context.Context) (string, error) {
	leave, err := s.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	var b strings.Builder
	for {
		line, err := s.readLine(ctx)
		b.WriteString(line)
		switch {
		case errors.Is(err, io.EOF):
			return b.String(), nil
		case err != nil:
			return "", err
		case b.Len() > maxInput:
			return "", errors.New("it is larger than 256 MiB")
		}
	}
}

// input performs an Input. At a terminal, the user types the line.
func (s *Sink) input(ctx context.Context, r *effect.Input) (effect.Result, error) {
	if err := s.out.flushOutput(ctx); err != nil {
		return nil, err
	}
	result, err := s.readInput(ctx, r)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, io.EOF):
		return &effect.InputText{End: true}, nil
	}
	e := effect.Errorf("FsError", "could not read standard input: %v", err).With("path", "<stdin>")
	e.Cause = err
	return nil, e
}

func (s *Sink) readInput(ctx context.Context, r *effect.Input) (*effect.InputText, error) {
	p := s.prompter
	if p == nil {
		return nil, io.EOF
	}
	if !r.All {
		text, err := p.Ask(ctx, "")
		return &effect.InputText{Text: text}, err
	}
	if in, ok := p.(*stdin); ok {
		text, err := in.readAll(ctx)
		return &effect.InputText{Text: text}, err
	}
	var b strings.Builder
	for {
		line, err := p.Ask(ctx, "")
		if errors.Is(err, io.EOF) {
			return &effect.InputText{Text: b.String()}, nil
		}
		if err != nil {
			return nil, err
		}
		b.WriteString(line + "\n")
	}
}
