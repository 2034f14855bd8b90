package prompt

import (
	"context"
	"errors"
	"strings"

	"github.com/concerto-lang/concerto/internal/term/screen"
)

// Reader prompts for a line of input. It is implemented by *emit.Terminal.
type Reader interface {
	Ask(ctx context.Context, prompt string) (string, error)
}

// Lines is a Terminal for a device that cannot move its cursor. It prints the question once and
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

// Join does nothing, because questions are asked in the order of the calls to Turn.
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

// Ask prints the question and reads a line. If there is a text to edit, it prints the text before.
func (l *Lines) Ask(ctx context.Context, p screen.Prompt) (string, error) {
	if p.Hidden {
		return "", errors.New("this terminal would show what is typed")
	}
	prompt := strings.TrimSuffix(p.Label, "> ")
	if p.Typed != "" {
		prompt += " (" + p.Typed + ")"
	}
	text := p.Text
	for _, r := range p.Body {
		text += "\n" + strings.TrimRight(r.Lead+r.Text, " ")
	}
	if p.After != "" {
		text += "\n" + p.After
	}
	if text != "" {
		prompt = text + "\n" + prompt
	}
	return l.read.Ask(ctx, prompt)
}

// View does nothing, because a prompt contains the whole request.
func (l *Lines) View(context.Context, []screen.Row) error { return nil }

// PrintAbove does nothing, because the question and the answer remain visible.
func (l *Lines) PrintAbove(string) {}
