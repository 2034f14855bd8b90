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

// Prompt is what a person is asked: a line is the answer.
type Prompt struct {
	Text  string    // what it is about; of several lines, if need be
	Label string    // the text before the answer
	Typed string    // an answer to begin with
	Until time.Time // when its time limit expires; zero: never
	Help  Helper    // with what is typed; Ctrl-C then leaves the prompt: ErrLeft. nil: none
}

// ErrLeft is the error of a prompt with help that was closed by Ctrl-C.
var ErrLeft = errors.New("the prompt was left")

// prompt is one that is open.
type prompt struct {
	Prompt
	edited  editor
	column  int // where the cursor is
	restore func()
}

// Ask shows a prompt and returns the typed line. If ctx ends first, the prompt disappears, with the
// typed text, and Ask returns ctx's cause; io.EOF means the end of the input. The caller must hold
// the turn.
func (s *Screen) Ask(ctx context.Context, p Prompt) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	open, err := s.open(p)
	if err != nil {
		return "", fmt.Errorf("prepare the terminal: %w", err)
	}
	text, err := s.typed(ctx, open)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompt == open {
		s.write(s.erased())
		s.shut()
	}
	if s.stale = err != nil; s.stale {
		s.keys.drop() // it was for this prompt
	}
	s.draw()
	return text, err
}

// open shows a prompt.
func (s *Screen) open(p Prompt) (*prompt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	restore, err := s.o.Raw()
	if err != nil {
		return nil, err
	}
	s.keys.read(s.o.Keys)
	if s.stale { // what was typed until now was for the one that disappeared
		s.keys.drop()
	}
	s.prompt = &prompt{Prompt: p, restore: restore}
	s.prompt.edited.begin(p.Typed)
	s.prompt.edited.help = p.Help
	s.draw()
	return s.prompt, nil
}

// shut closes the prompt, if one is open; mu is held.
func (s *Screen) shut() {
	if s.prompt != nil {
		s.prompt.restore()
		s.prompt = nil
	}
}

// typed reads keys until a line is there.
func (s *Screen) typed(ctx context.Context, open *prompt) (string, error) {
	for {
		b, err := s.keys.next(ctx)
		if err != nil {
			return "", err
		}
		s.mu.Lock()
		rest, now := open.edited.feed(b)
		s.keys.back(rest)
		text := string(open.edited.text)
		if said := open.edited.said; len(said) > 0 {
			open.edited.said = nil
			_, _ = s.pass(s.o.Out, []byte(strings.Join(said, "  ")+"\n")) // there is nowhere to report that it failed
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
				return "", ErrLeft
			}
			s.o.Interrupt()
		}
	}
}

// lines are a prompt as it is drawn, and the column of the cursor in the last.
func (p *prompt) lines(width, most int, now time.Time, waiting int) (lines []string, column int) {
	label := p.Label
	if p.Text != "" {
		lines = terminal.Wrap(p.Text, width)
	}
	if over := len(lines) - (most - 1); over > 0 { // it begins with what is asked and ends with the choices
		head := max(most-2, 0) / 2
		lines = slices.Concat(lines[:head], []string{fmt.Sprintf("… (%d lines)", over+1)}, lines[head+over+1:])
	}
	var notes []string
	if !p.Until.IsZero() {
		left := max(p.Until.Sub(now), 0)
		notes = append(notes, fmt.Sprintf("%d s left", int((left+time.Second-1)/time.Second)))
	}
	if waiting > 0 {
		notes = append(notes, fmt.Sprintf("%d more wait", waiting))
	}
	if len(notes) > 0 {
		label = "(" + strings.Join(notes, ", ") + ") " + label
	}
	label = terminal.Cut(label, max(width-8, width/2))
	text, column := p.edited.window(width - terminal.Width(label))
	return append(lines, label+text), terminal.Width(label) + column
}

// turns let those who ask ask one after the other, in the order in which they
// joined.
type turns struct {
	count sync.Mutex
	line  []*place // the first has the turn
}

// place is a place in the line; it is ready when it is the first.
type place struct{ ready chan struct{} }

// joined is the key of a place in a context.
type joined struct{}

// Join adds the caller to the queue of prompts. Turn waits for the turn when it is called with the
// returned context; leave leaves the queue, or releases the turn.
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
		return // it has been left
	}
	t.line = slices.Delete(t.line, at, at+1)
	if at == 0 && len(t.line) > 0 {
		close(t.line[0].ready)
	}
}

// waiting is how many wait for their turn.
func (t *turns) waiting() int {
	t.count.Lock()
	defer t.count.Unlock()
	return max(len(t.line)-1, 0)
}

// Turn waits for the turn to ask, and returns the function that releases it.
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

// Say leaves lines above what is drawn.
func (s *Screen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.pass(s.o.Out, []byte(text+"\n")) // there is nowhere to report that it failed
}

// keys are the typed keys. A goroutine begins to read with the first prompt and continues until the
// end of the input, since reading from a terminal cannot be interrupted.
type keys struct {
	once  sync.Once
	ready chan struct{} // something has come, or nothing more will

	guard sync.Mutex
	rest  []byte // read, and not used yet
	err   error  // why there are no more; nil while there may be
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

// add adds what has been read.
func (k *keys) add(b []byte, err error) {
	k.guard.Lock()
	defer k.guard.Unlock()
	k.rest, k.err = append(k.rest, b...), err
	select {
	case k.ready <- struct{}{}:
	default:
	}
}

// next returns the next typed input.
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

// take returns the received input, and the error after all of it has been consumed.
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

// back returns the keys after an answer to the queue.
func (k *keys) back(rest []byte) {
	k.guard.Lock()
	defer k.guard.Unlock()
	k.rest = append(rest[:len(rest):len(rest)], k.rest...)
}

// drop drops what has been typed and not been used.
func (k *keys) drop() {
	k.guard.Lock()
	defer k.guard.Unlock()
	k.rest = nil
}
