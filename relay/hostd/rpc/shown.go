package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// maxShown is how much of a command's output an event tells, of each stream.
const maxShown = 1 << 10

// cut is the beginning of a text, at most so many bytes and whole characters.
func cut(text string, most int) string { return text[:utf8cut.Before(text, most)] }

// chars is the beginning of a text, at most so many characters.
func chars(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i]
		}
	}
	return text
}

// argsOf are a call's arguments: its data without what says who asks.
func argsOf(c *call) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(c.Data, &all) != nil {
		return json.RawMessage("{}") // it was checked: this cannot be
	}
	for _, name := range []string{"request_id", "actor"} {
		delete(all, name)
	}
	return object(all)
}

// plainly are members of arguments that are never redacted: the person who decides must see where
// something is written, and on what.
var plainly = []string{"path", "base_sha256"}

func object(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("rpc: what is shown is no JSON: " + err.Error())
	}
	return text
}

// file is what an event tells of a file: never what it contains.
type file struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
	Truncated bool   `json:"truncated"`
}

// count is what an event tells of a list or a text.
type count struct {
	Path      string `json:"path,omitempty"`
	Entries   *int   `json:"entries,omitempty"`
	Matches   *int   `json:"matches,omitempty"`
	Bytes     *int   `json:"bytes,omitempty"`
	Truncated bool   `json:"truncated"`
}

// shown returns what events say of a result in cwd: of what a command wrote, without secrets.
func (d *Dispatcher) shown(cwd string, result any) json.RawMessage {
	switch r := result.(type) {
	case *protocol.FileRead:
		return object(file{r.Path, int64(len(r.Content)), r.SHA256, r.Truncated})
	case *protocol.Written:
		return object(file{r.Path, r.BytesWritten, r.SHA256, r.Truncated})
	case *protocol.DirListed:
		n := len(r.Entries)
		return object(count{Path: r.Path, Entries: &n, Truncated: r.Truncated})
	case *protocol.Found:
		n := len(r.Matches)
		return object(count{Matches: &n, Truncated: r.Truncated})
	case *protocol.GitDone:
		n := len(r.Stdout)
		return object(count{Bytes: &n, Truncated: r.Truncated})
	case *protocol.BashDone:
		short := *r
		short.Stdout, short.Stderr = cut(r.Stdout, maxShown), cut(r.Stderr, maxShown)
		short.Truncated = r.Truncated || len(short.Stdout) < len(r.Stdout) || len(short.Stderr) < len(r.Stderr)
		clean := d.o.Redact.In(cwd)
		short.Stdout, short.Stderr = clean.Text(short.Stdout), clean.Text(short.Stderr)
		return object(short)
	}
	return object(result)
}

// summary returns a text as one line of at most maxSummary characters. The ends of lines are
// marked, and so is what is missing at the end.
func summary(text string) string {
	all := []rune(strings.ReplaceAll(strings.TrimSpace(text), "\n", "⏎"))
	if len(all) <= maxSummary {
		return string(all)
	}
	for cut := maxSummary; ; cut-- {
		if short := string(all[:cut]) + fmt.Sprintf(" … (%d more characters)", len(all)-cut); utf8.RuneCountInString(short) <= maxSummary {
			return short
		}
	}
}
