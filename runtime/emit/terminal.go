package emit

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/terminal"
)

// Terminal is the Prompter of a terminal: a line of input is an answer. It asks
// one question at a time.
type Terminal struct {
	in   io.Reader
	out  io.Writer
	turn chan struct{}

	begin sync.Once
	lines chan string
	err   error // why there are no more lines; set before lines is closed
}

// NewTerminal makes a Terminal that reads answers from in and writes prompts to
// out. A goroutine begins to read with the first question and goes on until in
// ends, as a read from a terminal cannot be interrupted.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	t := &Terminal{in: in, out: out, turn: make(chan struct{}, 1), lines: make(chan string)}
	t.turn <- struct{}{}
	return t
}

// Ask prompts and gives the next line. A line that is typed after its question
// was given up answers the next question.
func (t *Terminal) Ask(ctx context.Context, prompt string) (string, error) {
	select {
	case <-t.turn:
		defer func() { t.turn <- struct{}{} }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if _, err := fmt.Fprintf(t.out, "%s> ", terminal.Escape(prompt)); err != nil {
		return "", fmt.Errorf("prompt for %s: %w", prompt, err)
	}
	t.begin.Do(func() { go t.read() })
	select {
	case l, ok := <-t.lines:
		if !ok {
			fmt.Fprintln(t.out)
			return "", t.err
		}
		return l, nil
	case <-ctx.Done():
		fmt.Fprintln(t.out)
		return "", context.Cause(ctx)
	}
}

func (t *Terminal) read() {
	defer close(t.lines)
	r := bufio.NewReader(t.in)
	for {
		l, err := r.ReadString('\n')
		if l != "" {
			t.lines <- strings.TrimRight(l, "\r\n")
		}
		if err != nil {
			t.err = err
			return
		}
	}
}
