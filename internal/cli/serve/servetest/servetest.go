// Package servetest plays conversations with a server of `concerto serve` (its API promises
// nothing: it is for tests). A conversation is lines:
//
//	→ {"jsonrpc":"2.0","id":1,"method":"ping"}       is sent
//	← {"jsonrpc":"2.0","id":1,"result":{}}           must be what comes next
//	# …                                              is a remark
//
// In what must come, … within a text stands for any characters, and "…" for any value. A
// text such as "$session" stands for the value that comes there first, and from then on
// for that value, also in what is sent. The order of members counts as the server writes them.
package servetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Wire is a connection: a message each.
type Wire interface {
	Send(text []byte) error
	Receive() ([]byte, error)
}

// End is the line at which the input ends.
const End = "# The input ends.\n"

// Conversation is one that is played in parts.
type Conversation struct {
	known map[string]any // the values of the texts that begin with $
	line  int
}

// New begins a conversation.
func New() *Conversation { return &Conversation{known: map[string]any{}} }

// Play plays a part. Its error is the first difference, with its line.
func (c *Conversation) Play(w Wire, part string) error {
	known, n := c.known, c.line
	defer func() { c.line = n }()
	for line := range strings.Lines(part) {
		n++
		line = strings.TrimSpace(line)
		mark, text, _ := strings.Cut(line, " ")
		var err error
		switch mark {
		case "→":
			err = w.Send([]byte(filled(text, known)))
		case "←":
			err = expect(w, text, known)
		case "", "#":
		default:
			err = fmt.Errorf("a line begins with →, ← or #")
		}
		if err != nil {
			return fmt.Errorf("line %d: %s\n%w", n, line, err)
		}
	}
	return nil
}

// filled is a text with what is known in the place of "$name".
func filled(text string, known map[string]any) string {
	for name, v := range known {
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

// sorted is a connection whose answers come apart from all else.
type sorted interface{ ReceiveAnswer() ([]byte, error) }

// receive returns the next message, where a text is expected.
func receive(w Wire, text string) ([]byte, error) {
	var m struct{ Method string }
	if s, ok := w.(sorted); ok && json.Unmarshal([]byte(text), &m) == nil && m.Method == "" {
		return s.ReceiveAnswer()
	}
	return w.Receive()
}

func expect(w Wire, text string, known map[string]any) error {
	got, err := receive(w, text)
	if err != nil {
		return fmt.Errorf("nothing comes: %w", err)
	}
	want, err := Tokens([]byte(text))
	if err != nil {
		return fmt.Errorf("what is wanted is no JSON: %w", err)
	}
	have, err := Tokens(got)
	if err != nil {
		return fmt.Errorf("what comes is no JSON: %s", got)
	}
	if at := differ(want, have, known); at != "" {
		return fmt.Errorf("comes instead (%s):\n%s", at, got)
	}
	return nil
}

// Member is a member of an object, in the order in which it is written.
type Member struct {
	Name  string
	Value any
}

// Tokens reads JSON with the order of members: objects are []Member, arrays []any.
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

// differ describes where two values differ; "" if they do not.
func differ(want, got any, known map[string]any) string {
	switch w := want.(type) {
	case string:
		return differText(w, got, known)
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
			if at := differ(w[i].Value, g[i].Value, known); at != "" {
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
			if at := differ(w[i], g[i], known); at != "" {
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

func differText(w string, got any, known map[string]any) string {
	if w == "…" {
		return ""
	}
	if strings.HasPrefix(w, "$") && !strings.ContainsAny(w, " …-/") {
		if v, ok := known[w]; ok {
			return differ(v, got, nil)
		}
		known[w] = got
		return ""
	}
	g, ok := got.(string)
	if !ok {
		return fmt.Sprintf("no text, but %v", got)
	}
	for name, v := range known {
		if s, ok := v.(string); ok {
			w = strings.ReplaceAll(w, name, s)
		}
	}
	if !covers(strings.Split(w, "…"), g) {
		return fmt.Sprintf("%q, not %q", g, w)
	}
	return ""
}

// covers reports whether a text is the parts with anything between them.
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

// Known returns the value of a text such as "$session".
func (c *Conversation) Known(name string) string {
	s, _ := c.known[name].(string)
	return s
}
