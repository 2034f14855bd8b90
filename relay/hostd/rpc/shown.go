package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// maxShown is the maximum size in bytes of each output stream of a command in events.
const maxShown = 1 << 10

// cut returns the beginning of a text. It is at most most bytes long and does not end within a
// character.
func cut(text string, most int) string { return text[:utf8cut.Before(text, most)] }

// firstChars returns the first most characters of a text.
func firstChars(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i]
		}
	}
	return text
}

// argsOf returns the arguments of a call, which are its data without the members that identify the
// call.
func argsOf(c *call) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(c.Data, &all) != nil {
		return json.RawMessage("{}") // cannot happen: the data was validated
	}
	for _, name := range []string{"request_id", "actor", "rpc_type"} {
		delete(all, name)
	}
	return mustMarshal(all)
}

// unredacted contains the names of arguments that are never redacted, because the user who decides
// must see them.
var unredacted = []string{"path", "base_sha256"}

func mustMarshal(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("rpc: what is shown is no JSON: " + err.Error())
	}
	return text
}

// fileSummary describes a file in an event, which does not contain the content of the file.
type fileSummary struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
	Truncated bool   `json:"truncated"`
}

// countSummary describes the size of a list or text in an event.
type countSummary struct {
	Path      string `json:"path,omitempty"`
	Entries   *int   `json:"entries,omitempty"`
	Matches   *int   `json:"matches,omitempty"`
	Bytes     *int   `json:"bytes,omitempty"`
	Truncated bool   `json:"truncated"`
}

// summarizeResult returns the form of a result for an event. It removes secrets from the output of
// a command, which ran in cwd.
func (d *Dispatcher) summarizeResult(cwd string, result any) json.RawMessage {
	switch r := result.(type) {
	case *protocol.ReadFileResult:
		return mustMarshal(fileSummary{r.Path, int64(len(r.Content)), r.SHA256, r.Truncated})
	case *protocol.WriteFileResult:
		return mustMarshal(fileSummary{r.Path, r.BytesWritten, r.SHA256, r.Truncated})
	case *protocol.ListDirResult:
		n := len(r.Entries)
		return mustMarshal(countSummary{Path: r.Path, Entries: &n, Truncated: r.Truncated})
	case *protocol.SearchResult:
		n := len(r.Matches)
		return mustMarshal(countSummary{Matches: &n, Truncated: r.Truncated})
	case *protocol.GitResult:
		n := len(r.Stdout)
		return mustMarshal(countSummary{Bytes: &n, Truncated: r.Truncated})
	case *protocol.BashResult:
		short := *r
		short.Stdout, short.Stderr = cut(r.Stdout, maxShown), cut(r.Stderr, maxShown)
		short.Truncated = r.Truncated || len(short.Stdout) < len(r.Stdout) || len(short.Stderr) < len(r.Stderr)
		clean := d.o.Redact.In(cwd)
		short.Stdout, short.Stderr = clean.Text(short.Stdout), clean.Text(short.Stderr)
		return mustMarshal(short)
	}
	return mustMarshal(result)
}

// summary returns a text as one line of at most maxSummary characters. It marks line breaks and
// omitted text.
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
