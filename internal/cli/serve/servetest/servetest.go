// Package servetest plays conversations with a server of `concerto serve`, for tests. A
// conversation consists of lines:
//
//	→ {"jsonrpc":"2.0","id":1,"method":"ping"}       the client sends this message
//	← {"jsonrpc":"2.0","id":1,"result":{}}           the next message must be this one
//	# …                                              a comment
//
// In an expected message, … within a text matches any characters, and "…" matches any value. A text
// such as "$session" matches any value the first time; after that it represents that value, also in
// messages of the client. Members must be in the order in which the server writes them.
package servetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Wire is a connection that sends and receives messages.
type Wire interface {
	Send(text []byte) error
	Receive() ([]byte, error)
}

// End is the line of a conversation at which the client closes the input.
const End = "# The input ends.\n"

// Conversation is a conversation with a server. It may be played in several parts.
type Conversation struct {
	values map[string]any // values of the placeholders, which begin with $
	line   int
}

// New returns a conversation of which nothing has been played.
func New() *Conversation { return &Conversation{values: map[string]any{}} }

// Play plays one part of a conversation. The error describes the first difference and names its
// line.
func (c *Conversation) Play(w Wire, part string) error {
	values, n := c.values, c.line
	defer func() { c.line = n }()
	for line := range strings.Lines(part) {
		n++
		line = strings.TrimSpace(line)
		mark, text, _ := strings.Cut(line, " ")
		var err error
		switch mark {
		case "→":
			err = w.Send([]byte(fillIn(text, values)))
		case "←":
			err = expect(w, text, values)
		case "", "#":
		default:
			err = fmt.Errorf("a line must begin with →, ← or #")
		}
		if err != nil {
			return fmt.Errorf("line %d: %s\n%w", n, line, err)
		}
	}
	return nil
}

// fillIn replaces each placeholder "$name" in text by its value.
func fillIn(text string, values map[string]any) string {
	for name, v := range values {
		value, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		text = strings.ReplaceAll(text, `"`+name+`"`, string(value))
		if s, ok := v.(string); ok {
			text = strings.ReplaceAll(text, name, s)
		}
	}
	return text
}

// sorted is implemented by connections that receive responses separately from events.
type sorted interface{ ReceiveAnswer() ([]byte, error) }

// receive returns the next message, or the next response if text is a response and w is sorted.
func receive(w Wire, text string) ([]byte, error) {
	var m struct{ Method string }
	if s, ok := w.(sorted); ok && json.Unmarshal([]byte(text), &m) == nil && m.Method == "" {
		return s.ReceiveAnswer()
	}
	return w.Receive()
}

func expect(w Wire, text string, values map[string]any) error {
	got, err := receive(w, text)
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	want, err := Tokens([]byte(text))
	if err != nil {
		return fmt.Errorf("the expected message is not valid JSON: %w", err)
	}
	have, err := Tokens(got)
	if err != nil {
		return fmt.Errorf("the message is not valid JSON: %s", got)
	}
	if at := differ(want, have, values); at != "" {
		return fmt.Errorf("got instead (%s):\n%s", at, got)
	}
	return nil
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value any
}

// Tokens parses JSON and preserves the order of members. Objects become []Member, and arrays become
// []any.
func Tokens(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := value(d)
	if err == nil {
		if _, err := d.Token(); err != io.EOF {
			return nil, fmt.Errorf("there is more than one value")
		}
	}
	return v, err
}

func value(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		all := []Member{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			all = append(all, Member{name.(string), v})
		}
		_, err = d.Token()
		return all, err
	case json.Delim('['):
		all := []any{}
		for d.More() {
			v, err := value(d)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		_, err = d.Token()
		return all, err
	}
	return t, nil
}

// differ describes the first difference between two values. It returns "" if they match.
func differ(want, got any, values map[string]any) string {
	switch w := want.(type) {
	case string:
		return differText(w, got, values)
	case []Member:
		g, ok := got.([]Member)
		if !ok {
			return fmt.Sprintf("no object, but %v", got)
		}
		for i := range max(len(w), len(g)) {
			switch {
			case i >= len(w):
				return "there is " + g[i].Name
			case i >= len(g) || w[i].Name != g[i].Name:
				return "there is no " + w[i].Name + " in its place"
			}
			if at := differ(w[i].Value, g[i].Value, values); at != "" {
				return w[i].Name + ": " + at
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("not %d elements", len(w))
		}
		for i := range w {
			if at := differ(w[i], g[i], values); at != "" {
				return fmt.Sprintf("[%d]: %s", i, at)
			}
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%v, not %v", got, want)
	}
	return ""
}

func differText(w string, got any, values map[string]any) string {
	if w == "…" {
		return ""
	}
	if strings.HasPrefix(w, "$") && !strings.ContainsAny(w, " …-/") {
		if v, ok := values[w]; ok {
			return differ(v, got, nil)
		}
		values[w] = got
		return ""
	}
	g, ok := got.(string)
	if !ok {
		return fmt.Sprintf("no text, but %v", got)
	}
	for name, v := range values {
		if s, ok := v.(string); ok {
			w = strings.ReplaceAll(w, name, s)
		}
	}
	if !covers(strings.Split(w, "…"), g) {
		return fmt.Sprintf("%q, not %q", g, w)
	}
	return ""
}

// covers reports whether s consists of the parts in order, with any text between them.
func covers(parts []string, s string) bool {
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, p)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}

// Value returns the value of a placeholder such as "$session".
func (c *Conversation) Value(name string) string {
	s, _ := c.values[name].(string)
	return s
}
