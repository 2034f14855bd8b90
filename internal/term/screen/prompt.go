package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Prompt is a question that the user answers with a line of text.
type Prompt struct {
	Text string // question, which may have several lines
	// Body is shown between Text and After, as far as there is room. Cut, if not nil, is then set
	// to the number of lines of Body that are not shown.
	Body  []Row
	After string // such as the choices
	Cut   *int
	Label string // text before the cursor
	Typed string // initial text of the answer
	// Hidden means that the answer is a secret, of which nothing is shown.
	Hidden bool
	Until  time.Time // deadline for the answer; zero for none
	Help   Helper    // completes the input; nil for none. With a Helper, Ctrl-C cancels the prompt with ErrCancelled
}

// ErrCancelled is the error of a prompt with a Helper if the user presses Ctrl-C.
var ErrCancelled = errors.New("the prompt was left")

// Row is a line of a Body. Lead begins it, such as a line number, and further lines are indented by
// its width. Neither contains control characters.
type Row struct {
	Lead, Text string
	Color      Color
}

// prompt is an open Prompt.
type prompt struct {
	Prompt
	body    body
	page    *page // the body is shown alone, by View; nil for a question
	edited  editor
	column  int // column of the cursor
	restore func()
}

// Ask shows a prompt and returns the typed line. If ctx is cancelled, the prompt disappears
// together with the typed text, and Ask returns the cause of ctx. At the end of the input Ask
// returns io.EOF. The caller must have the turn; see Turn.
func (s *Screen) Ask(ctx context.Context, p Prompt) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	open, err := s.open(p, nil)
	if err != nil {
		return "", fmt.Errorf("prepare the terminal: %w", err)
	}
	text, err := s.readLine(ctx, open)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompt == open {
		s.write(s.erased())
		s.shut()
	}
	if s.stale = err != nil; s.stale {
		s.keys.drop() // the unused input was typed for this prompt
	}
	s.draw()
	return text, err
}

// open shows a prompt, or a page of its body, and puts the terminal into raw mode.
func (s *Screen) open(p Prompt, of *page) (*prompt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	restore, err := s.o.Raw()
	if err != nil {
		return nil, err
	}
	s.keys.read(s.o.Keys)
	if s.stale { // the input so far was typed for the withdrawn prompt
		s.keys.drop()
	}
	s.prompt = &prompt{Prompt: p, page: of, restore: restore, body: body{rows: p.Body, color: s.o.Color}}
	s.prompt.edited.begin(p.Typed)
	s.prompt.edited.help = p.Help
	s.draw()
	return s.prompt, nil
}

// shut closes the open prompt, if there is one. The caller holds mu.
func (s *Screen) shut() {
	if s.prompt != nil {
		s.prompt.restore()
		s.prompt = nil
	}
}

// readLine reads keys until the line is complete.
func (s *Screen) readLine(ctx context.Context, open *prompt) (string, error) {
	for {
		b, err := s.keys.next(ctx)
		if err != nil {
			return "", err
		}
		s.mu.Lock()
		rest, now := open.edited.feed(b)
		s.keys.putBack(rest)
		text := string(open.edited.text)
		if choices := open.edited.choices; len(choices) > 0 {
			open.edited.choices = nil
			_, _ = s.pass(s.o.Out, []byte(strings.Join(choices, "  ")+"\n")) // there is no place to report an error to
		}
		s.draw()
		s.mu.Unlock()
		switch now {
		case entered:
			return text, nil
		case ended:
			return "", io.EOF
		case interrupted:
			if open.Help != nil {
				return "", ErrCancelled
			}
			s.o.Interrupt()
		}
	}
}

// lines returns the lines of the prompt, and the cursor's column in the last of them.
func (p *prompt) lines(width, most int, now time.Time, waiting int) (lines []string, column int) {
	label := p.Label
	if p.Text != "" {
		lines = terminal.Wrap(p.Text, width)
	}
	if len(p.Body) > 0 || p.After != "" {
		lines = p.withBody(lines, width, most)
	} else if over := len(lines) - (most - 1); over > 0 { // omit lines in the middle: the question is at the start, and the choices are at the end
		head := max(most-2, 0) / 2
		lines = slices.Concat(lines[:head], []string{fmt.Sprintf("… (%d lines)", over+1)}, lines[head+over+1:])
	}
	var notes []string
	if !p.Until.IsZero() {
		notes = append(notes, timeLeft(max(p.Until.Sub(now), 0)))
	}
	if waiting > 0 {
		notes = append(notes, fmt.Sprintf("%d more waiting", waiting))
	}
	if len(notes) > 0 {
		label = "(" + strings.Join(notes, ", ") + ") " + label
	}
	label = terminal.Cut(label, max(width-8, width/2))
	text, column := p.edited.window(width - terminal.Width(label))
	if p.Hidden {
		text, column = "", 0
	}
	return append(lines, label+text), terminal.Width(label) + column
}

// turns is the queue of callers that want to show a prompt, in the order in which they joined.
type turns struct {
	count sync.Mutex
	line  []*place // callers in order; the first one has the turn
}

// place is the place of a caller in the queue. ready is closed when the caller has the turn.
type place struct{ ready chan struct{} }

// joined is the context key for the place of a caller.
type joined struct{}

// Join adds the caller to the queue of prompts. The caller passes the returned context to Turn. The
// returned function removes the caller from the queue, or ends its turn.
func (s *Screen) Join(ctx context.Context) (context.Context, func()) {
	p := s.turns.join()
	return context.WithValue(ctx, joined{}, p), func() { s.turns.leave(p) }
}

func (t *turns) join() *place {
	t.count.Lock()
	defer t.count.Unlock()
	p := &place{make(chan struct{})}
	if t.line = append(t.line, p); len(t.line) == 1 {
		close(p.ready)
	}
	return p
}

func (t *turns) leave(p *place) {
	t.count.Lock()
	defer t.count.Unlock()
	at := slices.Index(t.line, p)
	if at < 0 {
		return // the caller has already left the queue
	}
	t.line = slices.Delete(t.line, at, at+1)
	if at == 0 && len(t.line) > 0 {
		close(t.line[0].ready)
	}
}

// waiting returns the number of callers that are waiting for their turn.
func (t *turns) waiting() int {
	t.count.Lock()
	defer t.count.Unlock()
	return max(len(t.line)-1, 0)
}

// Turn waits until the caller may show prompts. It returns the function that ends the turn.
func (s *Screen) Turn(ctx context.Context) (done func(), err error) {
	p, ok := ctx.Value(joined{}).(*place)
	if !ok {
		p = s.turns.join()
	}
	select {
	case <-p.ready:
		return func() { s.turns.leave(p) }, nil
	case <-ctx.Done():
		s.turns.leave(p)
		return nil, context.Cause(ctx)
	}
}

// PrintAbove prints text above the drawn lines.
func (s *Screen) PrintAbove(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.pass(s.o.Out, []byte(text+"\n")) // there is no place to report an error to
}

// keys stores the typed input. A goroutine begins to read at the first prompt and continues until
// the end of the input, because reading from a terminal cannot be interrupted.
type keys struct {
	once  sync.Once
	ready chan struct{} // contains an element if there is input or an error

	guard sync.Mutex
	rest  []byte // input that was not used yet
	err   error  // error that ended the input; nil while input may follow
}

func (k *keys) begin() { k.ready = make(chan struct{}, 1) }

func (k *keys) read(r io.Reader) {
	k.once.Do(func() {
		go func() {
			for {
				b := make([]byte, 256)
				n, err := r.Read(b)
				k.add(b[:n], err)
				if err != nil {
					return
				}
			}
		}()
	})
}

// add appends input or records an error.
func (k *keys) add(b []byte, err error) {
	k.guard.Lock()
	defer k.guard.Unlock()
	k.rest, k.err = append(k.rest, b...), err
	select {
	case k.ready <- struct{}{}:
	default:
	}
}

// next waits for input and returns it.
func (k *keys) next(ctx context.Context) ([]byte, error) {
	for {
		if b, err := k.take(); len(b) > 0 || err != nil {
			return b, err
		}
		select {
		case <-k.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take returns the available input. When no input is left, it returns the error.
func (k *keys) take() ([]byte, error) {
	k.guard.Lock()
	defer k.guard.Unlock()
	b := k.rest
	k.rest = nil
	if len(b) > 0 {
		return b, nil
	}
	return nil, k.err
}

// putBack makes rest, the keys that follow an answer, available again.
func (k *keys) putBack(rest []byte) {
	k.guard.Lock()
	defer k.guard.Unlock()
	k.rest = append(rest[:len(rest):len(rest)], k.rest...)
}

// drop discards the unused input.
func (k *keys) drop() {
	k.guard.Lock()
	defer k.guard.Unlock()
	k.rest = nil
}
