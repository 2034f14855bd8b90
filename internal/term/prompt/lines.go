package prompt

import (
	"context"
	"strings"

	"github.com/concerto-lang/concerto/internal/term/screen"
)

// Reader asks for one line after the other; *emit.Terminal is one.
type Reader interface {
	Ask(ctx context.Context, prompt string) (string, error)
}

// Lines is the Terminal of a device that cannot move its cursor: what is asked is
// written once, and what is typed is read by the line.
type Lines struct {
	read Reader
	turn chan struct{}
}

// NewLines makes Lines.
func NewLines(r Reader) *Lines {
	l := &Lines{read: r, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// Join does nothing: who waits first asks first.
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

// Ask writes the question, and reads a line. It writes the text to be edited first.
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

// Say does nothing: what was asked and typed is there to be read.
func (l *Lines) Say(string) {}
