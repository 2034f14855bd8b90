// Package notice writes the texts of notifications about runs. A machine with an account writes
// those of its runs, which the server cannot read; the server writes all others.
package notice

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	maxTitle   = 80 // in characters
	maxSummary = 160
)

// Closed is the summary of a request that is not open any more.
const Closed = "it is decided, or was withdrawn"

// Title returns the first of the texts that is not empty, on one line. A caller passes the title of
// a run, its tool and its id.
func Title(texts ...string) string {
	for _, text := range texts {
		if text = oneLine(text, maxTitle); text != "" {
			return text
		}
	}
	return ""
}

// Request describes the data of a request. It omits the arguments, because a notification may be
// visible on a locked screen, but includes the prompt of a question that a program asks.
func Request(data []byte) string {
	var d protocol.PermissionRequested
	if json.Unmarshal(data, &d) != nil {
		return "it has a request" // the request is encrypted
	}
	if d.From != nil && d.From.WantsValue() && d.OpTool == "" {
		text := terminal.Brief(strings.TrimSpace(d.Prompt), maxSummary)
		if d.Redacted {
			text += protocol.RedactedNote
		}
		return text
	}
	what := map[string]string{"permission": "it requests a permission", "choice": "it requests a choice", "prompt": "it requests an input"}[d.Reason]
	if what == "" {
		what = "it has a request"
	}
	if d.OpTool != "" {
		what += ": " + oneLine(d.OpTool, maxTitle)
	}
	return what
}

// End describes the end of a run. code is nil if it is unknown.
func End(code *int64) string {
	if code == nil {
		return "it has ended"
	}
	return fmt.Sprintf("it has ended: exit code %d", *code)
}

// oneLine returns a text as one line of at most most characters. It escapes invisible characters,
// for example as `\u{200b}`, and marks a shortened text with an ellipsis.
func oneLine(text string, most int) string {
	text = terminal.OneLine(strings.Join(strings.Fields(text), " "))
	if all := []rune(text); len(all) > most {
		text = string(all[:most-1]) + "…"
	}
	return text
}
