package screen

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// editor edits a line of input. A recalled entry may consist of several lines. It is edited as one
// line, in which a symbol represents each line break.
type editor struct {
	text    []rune
	at      int    // index of the cursor
	part    []byte // received part of an incomplete character or escape sequence
	help    Helper // completes and colours the input; nil for none
	choices []string
}

// Helper completes and colours the input. Positions in the input are numbers of characters.
type Helper interface {
	// Complete completes the text when the user presses Tab. It returns the completed text and the
	// new position of the cursor. The choices are shown above the prompt.
	Complete(text string, at int) (completed string, to int, choices []string)
	// Paint returns the coloured parts of the text, in their order.
	Paint(text string) []Paint
	// Earlier and Later return the previous and the next entry of the history. ok is false if there
	// is none.
	Earlier(text string) (string, bool)
	Later(text string) (string, bool)
}

// Paint is a coloured part of a line. The colour is given as SGR parameters, such as "32".
type Paint struct {
	From, To int
	Code     string
}

// complete handles the Tab key.
func (e *editor) complete() {
	text, at, choices := e.help.Complete(string(e.text), e.at)
	e.text, e.choices = []rune(text), choices
	e.at = min(max(at, 0), len(e.text))
}

// recall replaces the line by an entry of the history, which from returns.
func (e *editor) recall(from func(string) (string, bool)) {
	if text, ok := from(string(e.text)); ok {
		e.begin(text)
	}
}

func (e *editor) begin(text string) {
	e.text = []rune(text)
	e.at = len(e.text)
}

// outcome is the effect of a key on the prompt.
type outcome uint8

const (
	typing outcome = iota
	entered
	ended       // Ctrl-D on an empty line
	interrupted // Ctrl-C
)

// Keys that do not insert a character.
const (
	ctrlA     = 1
	ctrlC     = 3
	ctrlD     = 4
	ctrlE     = 5
	backspace = 8
	ctrlU     = 21
	ctrlW     = 23
	escape    = 27
	del       = 127
)

// feed handles keys until one of them ends the input. rest contains the keys that follow.
func (e *editor) feed(b []byte) (rest []byte, now outcome) {
	b = append(e.part, b...)
	e.part = nil
	for len(b) > 0 {
		if b[0] == escape {
			n := e.sequence(b)
			if n == 0 {
				e.part = b
				return nil, typing
			}
			b = b[n:]
			continue
		}
		if !utf8.FullRune(b) {
			e.part = b
			return nil, typing
		}
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		switch r {
		case '\r', '\n':
			return b, entered
		case ctrlC:
			return b, interrupted
		case ctrlD:
			if len(e.text) == 0 {
				return b, ended
			}
			e.remove(e.at, e.at+1)
		default:
			e.key(r)
		}
	}
	return nil, typing
}

// key handles one key.
func (e *editor) key(r rune) {
	switch r {
	case ctrlA:
		e.at = 0
	case ctrlE:
		e.at = len(e.text)
	case backspace, del:
		e.remove(e.at-1, e.at)
	case ctrlU:
		e.remove(0, e.at)
	case ctrlW:
		from := e.at
		for from > 0 && e.text[from-1] == ' ' {
			from--
		}
		for from > 0 && e.text[from-1] != ' ' {
			from--
		}
		e.remove(from, e.at)
	default:
		if r == '\t' && e.help != nil {
			e.complete()
			return
		}
		if r == '\t' {
			r = ' '
		}
		if unicode.IsPrint(r) {
			e.text = append(e.text[:e.at:e.at], append([]rune{r}, e.text[e.at:]...)...)
			e.at++
		}
	}
}

func (e *editor) remove(from, to int) {
	from, to = max(from, 0), min(to, len(e.text))
	if from >= to {
		return
	}
	e.text = append(e.text[:from:from], e.text[to:]...)
	e.at = from
}

// sequence handles the escape sequence at the start of b. It returns the length of the sequence, or
// 0 if the sequence is incomplete. It ignores unknown sequences.
func (e *editor) sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != '[' && b[1] != 'O' {
		return 1 // the Escape key alone
	}
	n := 2
	for n < len(b) && (b[n] < 0x40 || b[n] > 0x7e) {
		n++
	}
	if n == len(b) {
		return 0
	}
	switch string(b[2 : n+1]) {
	case "A", "B":
		switch up := b[n] == 'A'; {
		case e.help == nil:
		case up:
			e.recall(e.help.Earlier)
		default:
			e.recall(e.help.Later)
		}
	case "D":
		e.at = max(e.at-1, 0)
	case "C":
		e.at = min(e.at+1, len(e.text))
	case "H", "1~":
		e.at = 0
	case "F", "4~":
		e.at = len(e.text)
	case "3~":
		e.remove(e.at, e.at+1)
	}
	return n + 1
}

// lineEnd is the symbol that represents a line break.
const lineEnd = '⏎'

// visible returns the displayed form of the text. Each character of the text corresponds to one
// character of the result.
func (e *editor) visible() []rune {
	shown := slices.Clone(e.text)
	for i, r := range shown {
		if r == '\n' {
			shown[i] = lineEnd
		}
	}
	return shown
}

// window returns the visible part of the line, of at most most cells, and the cursor's column in
// that part. One cell is reserved for the cursor.
func (e *editor) window(most int) (text string, column int) {
	most = max(most, 4)
	shown, from := e.visible(), 0
	for terminal.Width(string(shown[from:e.at])) >= most {
		from++
	}
	to := e.at
	for to < len(shown) && terminal.Width(string(shown[from:to+1])) < most {
		to++
	}
	column = terminal.Width(string(shown[from:e.at]))
	if e.help == nil {
		return string(shown[from:to]), column
	}
	return painted(shown, from, to, e.help.Paint(string(e.text))), column
}

// painted returns the characters from from to to of a line with their colours.
func painted(line []rune, from, to int, all []Paint) string {
	var b strings.Builder
	for _, p := range all {
		start, end := max(p.From, from), min(p.To, to)
		if start >= end {
			continue
		}
		b.WriteString(string(line[from:start]) + "\x1b[" + p.Code + "m" + string(line[start:end]) + "\x1b[0m")
		from = end
	}
	if from < to {
		b.WriteString(string(line[from:to]))
	}
	return b.String()
}

// Painted returns text with its colours.
func Painted(text string, all []Paint) string {
	line := []rune(text)
	return painted(line, 0, len(line), all)
}
