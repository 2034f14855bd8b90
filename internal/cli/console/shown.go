package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/eventtext"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Printable returns a text of a model, a host or a file with control characters and characters that
// change the direction of text escaped. Output that is no terminal is escaped, too, because a
// stored log is read on a terminal later.
func Printable(text string) string { return terminal.Escape(text) }

// LogWriter returns the writer for log lines. It escapes texts as Printable does.
func (a *Console) LogWriter() io.Writer { return terminal.Writer(a.Stderr) }

// PayloadText returns the payload of an emit as text for output. On a terminal, an event of the
// runtime is returned in a readable form; it is "" for an event that contains no information for
// users.
func PayloadText(channel string, payload []byte, onTerminal bool) string {
	if onTerminal {
		if e, ok := eventtext.Read(channel, payload); ok {
			return e.Text
		}
	}
	return string(payload)
}

// PrintEvent prints the line about an event of the runtime on stderr, except with --quiet.
func (a *Console) PrintEvent(_, line string) {
	if !a.Quiet {
		a.Notef("%s\n", line)
	}
}

// Wrap breaks prose into lines of at most width characters.
func Wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Indent adds a prefix to each line of text. It returns "" for an empty text.
func Indent(text, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			b.WriteString(prefix)
		}
		b.WriteString(line)
	}
	return b.String()
}
