package rpc

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// maxShown is how much of a command's output an event tells, of each stream.
const maxShown = 1 << 10

// cut is the beginning of a text, at most so many bytes and whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

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

// plainly are members of arguments that are no secrets, whatever they look like: who decides must
// see where something is written, and on what.
var plainly = []string{"path", "base_sha256"}

// redacted are arguments as they are told.
func (d *Dispatcher) redacted(args json.RawMessage) json.RawMessage {
	var was, is map[string]json.RawMessage
	clean := d.o.Redact.JSON(args)
	if json.Unmarshal(args, &was) != nil || json.Unmarshal(clean, &is) != nil {
		return clean
	}
	for _, name := range plainly {
		if v, has := was[name]; has {
			is[name] = v
		}
	}
	return object(is)
}

// redactedDiff is a diff without secrets; its first two lines name the file.
func (d *Dispatcher) redactedDiff(text string) string {
	at := 0
	for range 2 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return text[:at] + d.o.Redact.Text(text[at:])
}

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

// shown is what events tell of a result: of what a command wrote, without secrets.
func (d *Dispatcher) shown(result any) json.RawMessage {
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
		short.Stdout, short.Stderr = d.o.Redact.Text(short.Stdout), d.o.Redact.Text(short.Stderr)
		return object(short)
	}
	return object(result)
}

// line is a text as one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }
