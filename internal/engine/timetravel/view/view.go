// Package view shows a recorded run on a terminal: its effects on the left, and the position with
// the values of its variables on the right. The package draws rows and handles keys; the caller
// controls the terminal.
package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/engine/timetravel"
)

// View is the state of the screen for one inspected run. It is not safe for concurrent use.
type View struct {
	// Name is the name of the run.
	Name string
	// Color means that the terminal supports colours.
	Color bool
	// Fork forks the run at an effect and returns a message. result replaces the effect's result;
	// nil means the recorded one. Fork is nil if the run is on a tape, which cannot be forked.
	Fork func(effect int64, result json.RawMessage) (message string)

	r       *timetravel.Recording
	s       *timetravel.Session
	frame   int    // index of the displayed call in Frames, where 0 is the innermost
	message string // message for the user, shown until the next key
	asking  *question
	help    bool
	sought  string
	rest    []byte // first bytes of an incomplete key
}

// question is an open prompt that the user is typing into.
type question struct {
	prompt string
	text   []rune
	done   func(text string) (bool, error)
}

// ErrInterrupted is the error of Type after Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// New returns a view at effect at, where 0 means the first effect. problem is the reason why the
// recording is incomplete, or nil.
func New(r *timetravel.Recording, s *timetravel.Session, at int64, problem error) (*View, error) {
	b := &View{r: r, s: s}
	if problem != nil {
		b.message = problem.Error()
	}
	if len(r.Effects) == 0 {
		return b, s.ToLine(1)
	}
	return b, s.ToEffect(max(at, 1))
}

// Type handles typed keys. leave is true after a key that closes the view.
func (b *View) Type(keys []byte) (leave bool, err error) {
	all := append(b.rest, keys...)
	b.rest = nil
	for len(all) > 0 {
		k, n := parseKey(all)
		if n == 0 {
			b.rest = all
			break
		}
		all = all[n:]
		if leave, err = b.press(k); leave || err != nil {
			return leave, err
		}
	}
	return false, nil
}

// press handles a key.
func (b *View) press(k string) (leave bool, err error) {
	b.message = ""
	switch {
	case k == "ctrl-c":
		return false, ErrInterrupted
	case b.asking != nil:
		return b.handlePromptKey(k)
	case b.help:
		b.help = false
		return false, nil
	}
	if c := commandOf(k); c != nil {
		return c.do(b)
	}
	return false, nil
}

// handlePromptKey handles a key while a prompt is open.
func (b *View) handlePromptKey(k string) (leave bool, err error) {
	q := b.asking
	switch k {
	case "escape":
		b.asking = nil
	case "enter":
		b.asking = nil
		return q.done(strings.TrimSpace(string(q.text)))
	case "backspace":
		q.text = q.text[:max(len(q.text)-1, 0)]
	case "ctrl-u":
		q.text = nil
	default:
		if r := []rune(k); len(r) == 1 {
			q.text = append(q.text, r[0])
		}
	}
	return false, nil
}

func (b *View) openPrompt(prompt string, done func(string) (bool, error)) (leave bool, err error) {
	b.asking = &question{prompt: prompt, done: done}
	return false, nil
}

// command is the action of one or more keys.
type command struct {
	keys []string
	what string // help text; "" if another command's text describes the keys
	do   func(*View) (bool, error)
}

// commands lists all commands in the order of the help.
var commands []command

func init() { // assigned here because the initial value would be an initialisation cycle
	commands = []command{
		{[]string{"right", "l"}, "→ l     the next effect", func(b *View) (bool, error) { return b.effect(b.s.Effects + 1) }},
		{[]string{"left", "h"}, "← h     the effect before", (*View).before},
		{[]string{"down", "j"}, "↓ j     the next line", func(b *View) (bool, error) { return b.goToLine(b.s.Lines + 1) }},
		{[]string{"up", "k"}, "↑ k     the line before", (*View).lineBefore},
		{[]string{"page-down"}, "Page ↓  ten effects on", func(b *View) (bool, error) { return b.effect(min(b.s.Effects+10, b.last())) }},
		{[]string{"page-up"}, "Page ↑  ten effects back", func(b *View) (bool, error) { return b.effect(max(b.s.Effects-10, 1)) }},
		{[]string{"home"}, "Home    the first effect", func(b *View) (bool, error) { return b.effect(1) }},
		{[]string{"end"}, "End     the last one", func(b *View) (bool, error) { return b.effect(b.last()) }},
		{[]string{"g"}, "g       go to an effect by its number", (*View).goTo},
		{[]string{"/"}, "/       search for a text in kinds, places, requests and results", (*View).search},
		{[]string{"n"}, "n       search on", func(b *View) (bool, error) { return b.goToText(b.sought) }},
		{[]string{"tab"}, "Tab     the call around: its line and its variables", (*View).outer},
		{[]string{"f"}, "f       fork here: copy the run, and continue the copy", (*View).fork},
		{[]string{"?"}, "?       this help", func(b *View) (bool, error) { b.help = true; return false, nil }},
		{[]string{"q"}, "q       leave", func(*View) (bool, error) { return true, nil }},
	}
}

func commandOf(k string) *command {
	for i := range commands {
		for _, x := range commands[i].keys {
			if x == k {
				return &commands[i]
			}
		}
	}
	return nil
}

// last returns the number of the last effect.
func (b *View) last() int64 {
	if n := len(b.r.Effects); n > 0 {
		return b.r.Effects[n-1].N
	}
	return 0
}

// effect moves to effect n.
func (b *View) effect(n int64) (leave bool, err error) {
	b.frame = 0
	if n > b.last() {
		b.message = "end of the recording"
		if b.s.Ended {
			return false, nil
		}
	}
	return false, b.s.ToEffect(n)
}

// before moves back to the previous effect. At a line, this is the last effect before the line.
func (b *View) before() (leave bool, err error) {
	n := b.s.Effects
	if b.s.Effect > 0 {
		n--
	}
	if n < 1 {
		b.message = "this is the first effect"
		return false, nil
	}
	return b.effect(min(n, b.last()))
}

// goToLine moves to the nth executed line.
func (b *View) goToLine(n int64) (leave bool, err error) {
	b.frame = 0
	if b.s.Ended && n > b.s.Lines {
		b.message = "end of the recording"
		return false, nil
	}
	err = b.s.ToLine(n)
	if b.s.Ended {
		b.message = "end of the recording"
	}
	return false, err
}

// lineBefore moves back to the previous line. At an effect, this is the line that performs the
// effect.
func (b *View) lineBefore() (leave bool, err error) {
	n := b.s.Lines
	if b.s.Effect == 0 && !b.s.Ended {
		n--
	}
	if n < 1 {
		b.message = "start of the run"
		return false, nil
	}
	return b.goToLine(n)
}

func (b *View) goTo() (leave bool, err error) {
	return b.openPrompt("go to effect: ", func(text string) (bool, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case text == "":
			return false, nil
		case err != nil || n < 1 || n > b.last():
			b.message = fmt.Sprintf("there is no effect %s: the last one is %d", text, b.last())
			return false, nil
		}
		return b.effect(n)
	})
}

func (b *View) search() (leave bool, err error) {
	return b.openPrompt("search: ", func(text string) (bool, error) {
		if text == "" {
			return false, nil
		}
		b.sought = text
		return b.goToText(text)
	})
}

// goToText moves to the next effect that contains a text. After the last effect, the search
// continues at the first.
func (b *View) goToText(text string) (leave bool, err error) {
	if text == "" {
		b.message = "no previous search: press /"
		return false, nil
	}
	all := b.r.Effects
	from := 0
	for from < len(all) && all[from].N <= b.s.Effects {
		from++
	}
	for i := range all {
		x := &all[(from+i)%len(all)]
		if has(x, text) {
			if (from+i)/len(all) > 0 {
				b.message = "from the first on"
			}
			b.frame = 0
			return false, b.s.ToEffect(x.N)
		}
	}
	b.message = "no effect contains " + text
	return false, nil
}

func has(x *timetravel.Effect, text string) bool {
	for _, part := range []string{x.Kind, x.Status, x.At, string(x.Request), string(x.Result)} {
		if strings.Contains(strings.ToLower(part), strings.ToLower(text)) {
			return true
		}
	}
	return x.Error != nil && strings.Contains(strings.ToLower(x.Error.Message), strings.ToLower(text))
}

// outer shows the calling function's frame. After the outermost call it shows the innermost again.
func (b *View) outer() (leave bool, err error) {
	if n := len(b.s.Frames); n > 0 {
		b.frame = (b.frame + 1) % n
	}
	return false, nil
}

func (b *View) fork() (leave bool, err error) {
	n := min(b.s.Effects, b.last())
	switch {
	case b.Fork == nil:
		b.message = "a tape cannot be forked; use a run of concerto run --journal"
		return false, nil
	case n < 1:
		b.message = "there is no effect"
		return false, nil
	}
	return b.openPrompt(fmt.Sprintf("fork at effect %d, with the result (JSON; empty: unchanged; Esc: no fork): ", n), func(text string) (bool, error) {
		if text != "" && !json.Valid([]byte(text)) {
			b.message = "invalid JSON; put text in quotes: " + text
			return false, nil
		}
		b.message = b.Fork(n, json.RawMessage(text))
		return false, nil
	})
}
