package prompt

import (
	"context"
	"strings"

	"github.com/concerto-lang/concerto/internal/term/screen"
)

// Reader prompts for a line; *emit.Terminal is one.
type Reader interface {
	Ask(ctx context.Context, prompt string) (string, error)
}

// Lines is the Terminal of a device that cannot move its cursor: it prints the question once and
// reads a line.
type Lines struct {
	read Reader
	turn chan struct{}
}

// NewLines returns a Lines that reads from r.
func NewLines(r Reader) *Lines {
	l := &Lines{read: r, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// Join does nothing: questions are asked in the order of the calls of Turn.
func (l *Lines) Join(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

// Turn waits until no other question is open.
func (l *Lines) Turn(ctx context.Context) (done func(), err error) {
	select {
	case <-l.turn:
		return func() { l.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Ask prints the question and reads a line. It prints the text to edit first.
func (l *Lines) Ask(ctx context.Context, p screen.Prompt) (string, error) {
	prompt := strings.TrimSuffix(p.Label, "> ")
	if p.Typed != "" {
		prompt += " (" + p.Typed + ")"
	}
	if p.Text != "" {
		prompt = p.Text + "\n" + prompt
	}
	return l.read.Ask(ctx, prompt)
}

// PrintAbove does nothing, because question and answer remain visible.
func (l *Lines) PrintAbove(string) {}
