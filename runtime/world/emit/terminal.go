package emit

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Terminal is the Prompter of a terminal. Each line of input is an answer. It asks one question at
// a time.
type Terminal struct {
	in  *stdin
	out io.Writer
}

// NewTerminal returns a Terminal that reads answers from in and writes prompts to out.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	return &Terminal{in: newStdin(in), out: out}
}

// Ask shows the prompt unless it is empty, and returns the next line.
func (t *Terminal) Ask(ctx context.Context, prompt string) (string, error) {
	leave, err := t.in.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	if prompt != "" {
		if _, err := fmt.Fprintf(t.out, "%s> ", terminal.Escape(prompt)); err != nil {
			return "", fmt.Errorf("could not ask for %s: %w", prompt, err)
		}
	}
	line, err := t.in.lines.nextLine(ctx)
	if err != nil && prompt != "" {
		fmt.Fprintln(t.out)
	}
	return strings.TrimRight(line, "\r\n"), err
}
