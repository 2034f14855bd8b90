package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/eventtext"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// shown is a text for output. On a terminal its control characters are escaped,
// as it may come from a model or a host.
func shown(text string, onTerminal bool) string {
	if onTerminal {
		return terminal.Escape(text)
	}
	return text
}

// logs is where log lines go, which hold what hosts and models say.
func (a *app) logs() io.Writer {
	if a.errTerminal {
		return terminal.Writer(a.stderr)
	}
	return a.stderr
}

// payload is what an emit says. On a terminal it is what the runtime's events say for
// people, and "" for those that say nothing.
func payload(channel string, payload []byte, onTerminal bool) string {
	if onTerminal {
		if e, ok := eventtext.Read(channel, payload); ok {
			return e.Text
		}
	}
	return string(payload)
}

// fill breaks prose into lines of at most width characters.
func fill(text string, width int) string {
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

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
