package screen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

// stage is a Screen on an emulated terminal. The test sets the clock.
type stage struct {
	*Screen
	t    *testing.T
	term *testterm.Term
	keys *io.PipeWriter

	mu            sync.Mutex
	width, height int
	now           time.Time
	lines         []string
	raw           int
	interrupts    int
}

func newStage(t *testing.T, width, height int) *stage {
	s := &stage{t: t, term: testterm.New(width, height), width: width, height: height, now: time.Unix(0, 0)}
	in, out := io.Pipe()
	s.keys = out
	t.Cleanup(func() { out.Close() })
	locked := func(f func()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		f()
	}
	s.Screen = New(Options{
		Out: s.term, Keys: in, Color: true,
		Size:      func() (w, h int) { locked(func() { w, h = s.width, s.height }); return },
		Raw:       func() (func(), error) { locked(func() { s.raw++ }); return func() { locked(func() { s.raw-- }) }, nil },
		Interrupt: func() { locked(func() { s.interrupts++ }) },
		Now:       func() (n time.Time) { locked(func() { n = s.now }); return },
	})
	s.Show(func(width, most int) []Line {
		s.mu.Lock()
		defer s.mu.Unlock()
		var out []Line
		for _, l := range s.lines[:min(len(s.lines), most)] {
			out = append(out, Line{Mark: "●", Color: Green, Text: l})
		}
		return out
	})
	return s
}

// set changes the view and draws it after one second.
func (s *stage) set(lines ...string) {
	s.mu.Lock()
	s.lines = lines
	s.now = s.now.Add(time.Second)
	s.mu.Unlock()
	s.Refresh()
}

// tick advances the clock by a second.
func (s *stage) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(time.Second)
}

// shows checks the rows of the terminal and the position x, y of the cursor.
func (s *stage) shows(x, y int, rows ...string) {
	s.t.Helper()
	got := s.term.State()
	if d := cmp.Diff(rows, got.Rows); d != "" || got.X != x || got.Y != y || len(got.Odd) > 0 || got.Style != "" {
		s.t.Errorf("rows (-want +got)\n%s\ncursor at %d,%d, unexpected sequences %v, style %q", d, got.X, got.Y, got.Odd, got.Style)
	}
}

func TestView(t *testing.T) {
	s := newStage(t, 20, 6)
	out := s.Writer(&crlf{s.term})
	_, _ = io.WriteString(out, "before\n")
	s.set("one", "two")
	s.shows(0, 1, "before", "● one", "● two")
	s.set("one", "a line that is much too long")
	s.shows(0, 1, "before", "● one", "● a line that is m…")
	s.tick()
	_, _ = io.WriteString(out, "above\n")
	s.shows(0, 2, "before", "above", "● one", "● a line that is m…")
	s.set("one")
	s.shows(0, 2, "before", "above", "● one")
	// Nothing is drawn while the text above ends with an incomplete line, or if nothing has
	// changed.
	_, _ = io.WriteString(out, "50%")
	s.set("one")
	s.shows(3, 2, "before", "above", "50%")
	_, _ = io.WriteString(out, "\r60%\n")
	s.set("one")
	s.shows(0, 3, "before", "above", "60%", "● one")
	n := s.term.State().Bytes
	s.set("one")
	if more := s.term.State().Bytes - n; more != 0 {
		t.Errorf("Refresh wrote %d bytes although nothing had changed", more)
	}
	// A view with many lines scrolls the text above.
	s.set("1", "2", "3", "4", "5", "6")
	s.shows(0, 2, "above", "60%", "● 1", "● 2", "● 3", "● 4")
	s.Clear()
	s.shows(0, 2, "above", "60%")
	_, _ = io.WriteString(out, "after\n")
	s.shows(0, 3, "above", "60%", "after")
}

// crlf is a terminal that adds a carriage return to each line feed.
type crlf struct{ w io.Writer }

func (x crlf) Write(b []byte) (int, error) {
	_, err := x.w.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")))
	return len(b), err
}

// TestMuchText checks that the view is not redrawn for text that arrives shortly after other text.
func TestMuchText(t *testing.T) {
	s := newStage(t, 20, 6)
	out := s.Writer(&crlf{s.term})
	s.set("view")
	for range 3 {
		_, _ = io.WriteString(out, "x\n")
	}
	s.shows(0, 3, "x", "x", "x")
	s.set("view")
	s.shows(0, 3, "x", "x", "x", "● view")
}

func TestResize(t *testing.T) {
	s := newStage(t, 20, 6)
	out := s.Writer(&crlf{s.term})
	_, _ = io.WriteString(out, "kept\n")
	s.set("one", "two", "three")
	resize := func(width, height int) {
		s.mu.Lock()
		s.width, s.height = width, height
		s.mu.Unlock()
		s.term.Resize(width, height)
		s.Refresh()
	}
	resize(6, 6)
	s.shows(0, 1, "kept", "● one", "● two", "● th…")
	resize(20, 4)
	s.shows(0, 1, "kept", "● one", "● two")
	resize(20, 2)
	s.shows(0, 1, "kept")
	resize(20, 8)
	s.shows(0, 1, "kept", "● one", "● two", "● three")
}

// ask shows a prompt from another goroutine. The returned channel receives the answer or the error.
func (s *stage) ask(ctx context.Context, p Prompt) chan string {
	came := make(chan string, 1)
	go func() {
		text, err := s.Ask(ctx, p)
		if err != nil {
			text = "error: " + err.Error()
		}
		came <- text
	}()
	return came
}

// until waits until the terminal shows text.
func (s *stage) until(text string) {
	s.t.Helper()
	over := make(chan struct{})
	timer := time.AfterFunc(2*time.Minute, func() { close(over) })
	defer timer.Stop()
	if got, ok := s.term.Wait(func(x testterm.State) bool { return strings.Contains(x.Text(), text) }, over); !ok {
		s.t.Fatalf("the terminal does not show %q:\n%s", text, got.Text())
	}
}

func (s *stage) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
}

func TestPrompt(t *testing.T) {
	s := newStage(t, 24, 8)
	out := s.Writer(s.term) // in raw mode a line feed does not return the cursor to the first column
	s.set("view")
	came := s.ask(t.Context(), Prompt{Text: "What is it that you want?\nsay", Label: "> ", Until: time.Unix(11, 0)})
	s.until("(10 s left) >")
	s.press("ab")
	s.until("> ab")
	_, _ = io.WriteString(out, "above\n")
	s.shows(16, 5, "above", "● view", "What is it that you", "want?", "say", "(10 s left) > ab")
	s.set("view 2") // a second later
	s.shows(15, 5, "above", "● view 2", "What is it that you", "want?", "say", "(9 s left) > ab")
	s.press("\x7f\x7f\x03x\ry")
	if got := <-came; got != "x" || s.interrupts != 1 || s.raw != 0 {
		t.Errorf("answer %q, %d interrupts, raw-mode count %d, want 0", got, s.interrupts, s.raw)
	}
	s.shows(0, 1, "above", "● view 2")
	// Input that was typed in advance belongs to the next prompt.
	came = s.ask(t.Context(), Prompt{Label: "next> ", Typed: "be"})
	s.until("next> bey")
	s.press("\r")
	if got := <-came; got != "bey" {
		t.Error(got)
	}
}

// TestWithdrawn checks that a withdrawn prompt disappears, and that its input is not used as the
// answer to another prompt.
func TestWithdrawn(t *testing.T) {
	s := newStage(t, 24, 8)
	ctx, cancel := context.WithCancelCause(t.Context())
	came := s.ask(ctx, Prompt{Text: "first", Label: "> "})
	s.press("yes")
	s.until("> yes")
	cancel(errors.New("withdrawn"))
	if got := <-came; got != "error: withdrawn" || s.raw != 0 {
		t.Errorf("result %q, raw-mode count %d, want 0", got, s.raw)
	}
	s.shows(0, 0, []string{}...)
	s.press("y")
	for has := false; !has; {
		runtime.Gosched()
		s.Screen.keys.guard.Lock()
		has = len(s.Screen.keys.rest) > 0
		s.Screen.keys.guard.Unlock()
	}
	came = s.ask(t.Context(), Prompt{Text: "second", Label: "> "})
	s.until("second")
	s.press("no\r")
	if got := <-came; got != "no" {
		t.Error(got)
	}
	// Clear closes an open prompt. The prompt returns io.EOF.
	came = s.ask(t.Context(), Prompt{Text: "third", Label: "> "})
	s.until("third")
	s.Clear()
	if s.raw != 0 {
		t.Error("the terminal is still in raw mode after Clear")
	}
	s.keys.Close()
	if got := <-came; got != "error: EOF" {
		t.Error(got)
	}
}

// TestTurns checks that callers receive the turn in the order in which they joined.
func TestTurns(t *testing.T) {
	s := newStage(t, 24, 8)
	ctx1, leave1 := s.Join(t.Context())
	ctx2, leave2 := s.Join(t.Context())
	ctx3, cancel3 := context.WithCancel(t.Context())
	ctx3, leave3 := s.Join(ctx3)
	done1, err := s.Turn(ctx1)
	if err != nil || s.turns.waiting() != 2 {
		t.Fatal(err, s.turns.waiting())
	}
	second := make(chan func())
	go func() {
		done, err := s.Turn(ctx2)
		if err != nil {
			t.Error(err)
		}
		second <- done
	}()
	cancel3()
	if _, err := s.Turn(ctx3); err == nil {
		t.Error("a cancelled caller received the turn")
	}
	leave3()
	select {
	case <-second:
		t.Fatal("two callers have the turn at the same time")
	default:
	}
	done1()
	leave1()
	(<-second)()
	leave2()
	if done, err := s.Turn(t.Context()); err != nil {
		t.Error(err)
	} else {
		done()
	}
	if s.turns.waiting() != 0 {
		t.Error("the queue still contains a waiting caller")
	}
}
