package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// custom is the suffix of the name of a property that accepts values which the enum of another
// property lacks.
const custom = "_custom"

// property is a property in the schema of an elicitation.
type property struct {
	Type        string    `json:"type"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Enum        []string  `json:"enum"`
	EnumNames   []string  `json:"enumNames"`
	OneOf       []titled  `json:"oneOf"`
	AnyOf       []titled  `json:"anyOf"`
	Items       *property `json:"items"`
}

type titled struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// titleSeparator separates the label from the description in titles like "Red — take Red". Some
// agents use one text for both.
const titleSeparator = " — "

// choice is a value that the user can choose for a property.
type choice struct{ value, label, description string }

// choices returns the values that the user can choose for a property. An empty list means that
// every value of the property's type is possible.
func (p *property) choices() []choice {
	if p.Type == "array" && p.Items != nil {
		return p.Items.choices()
	}
	var out []choice
	for i, v := range p.Enum {
		c := choice{value: v, label: v}
		if i < len(p.EnumNames) {
			c.label = p.EnumNames[i]
		}
		out = append(out, c)
	}
	for _, t := range slices.Concat(p.OneOf, p.AnyOf) {
		c := choice{t.Const, cmp.Or(t.Title, t.Const), t.Description}
		if label, rest, ok := strings.Cut(t.Title, titleSeparator); ok && strings.HasPrefix(label, t.Const) {
			c.label, c.description = label, cmp.Or(t.Description, rest)
		}
		out = append(out, c)
	}
	return out
}

// form is the schema of an elicitation: an object whose members are not objects or lists of
// objects.
type form struct {
	names    []string // names of the properties, in the schema's order
	of       map[string]property
	required []string
}

// readForm parses the schema of an elicitation. It skips properties that it cannot parse.
func readForm(schema json.RawMessage) form {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return form{}
	}
	f := form{of: map[string]property{}, required: s.Required}
	for _, m := range jsonobject.MembersOf(s.Properties) {
		var p property
		if json.Unmarshal(m.Value, &p) == nil {
			f.names = append(f.names, m.Name)
			f.of[m.Name] = p
		}
	}
	return f
}

// asks returns the questions of the form: one for each property, except the properties whose name
// has the suffix custom.
func (f *form) asks() []ask {
	var out []ask
	for _, name := range f.names {
		if base, ok := strings.CutSuffix(name, custom); ok && slices.Contains(f.names, base) {
			continue
		}
		p := f.of[name]
		a := ask{ID: name, Question: p.Description, Header: p.Title, Multi: p.Type == "array"}
		if a.Question == "" {
			a.Question, a.Header = p.Title, ""
		}
		if a.Question == "" {
			a.Question = name
		}
		for _, c := range p.choices() {
			a.Options = append(a.Options, askOption{c.label, c.description})
		}
		out = append(out, a)
	}
	return out
}

// fillIn returns the form filled in with an answer, including members of the answer for which there
// was no question. It returns false if the answer does not fit the form.
func (f *form) fillIn(answer json.RawMessage) (obj, bool) {
	asks := f.asks()
	content := obj{}
	for i, v := range answersTo(asks, answer) {
		if v == nil {
			continue
		}
		name := asks[i].ID
		p := f.of[name]
		filled, ok := p.value(v)
		var text string
		switch {
		case ok:
			content[name] = filled
		case slices.Contains(f.names, name+custom) && json.Unmarshal(v, &text) == nil:
			content[name+custom] = text
		default:
			return nil, false
		}
	}
	for _, m := range jsonobject.MembersOf(answer) {
		p, ok := f.of[m.Name]
		if _, done := content[m.Name]; ok && !done && strings.HasSuffix(m.Name, custom) {
			if v, ok := p.value(m.Value); ok {
				content[m.Name] = v
			}
		}
	}
	for _, name := range f.required {
		_, ok := content[name]
		_, instead := content[name+custom]
		if !ok && !instead {
			return nil, false
		}
	}
	return content, len(content) > 0
}

// value converts an answer to the property's type. It returns false if the answer does not fit.
func (p *property) value(v json.RawMessage) (any, bool) {
	var text string
	isText := json.Unmarshal(v, &text) == nil
	switch p.Type {
	case "array":
		return p.parseList(v)
	case "boolean":
		b, ok := map[string]bool{"true": true, "yes": true, "false": false, "no": false}[strings.ToLower(strings.TrimSpace(text))]
		if !isText {
			ok = json.Unmarshal(v, &b) == nil
		}
		return b, ok
	case "number", "integer":
		n := json.Number(strings.TrimSpace(text))
		if !isText {
			n = json.Number(v)
		}
		_, err := strconv.ParseFloat(string(n), 64)
		if p.Type == "integer" {
			_, err = strconv.ParseInt(string(n), 10, 64)
		}
		return n, err == nil && json.Valid([]byte(n))
	}
	if !isText {
		return nil, false
	}
	return p.choose(text)
}

// choose returns the choice that the user's text refers to, or false if the property does not allow
// the text.
func (p *property) choose(text string) (string, bool) {
	all := p.choices()
	for _, c := range all {
		if bare(c.label) == bare(text) || bare(c.value) == bare(text) {
			return c.value, true
		}
	}
	return text, len(all) == 0
}

func (p *property) parseList(v json.RawMessage) (any, bool) {
	var all []string
	var one string
	if json.Unmarshal(v, &one) == nil {
		all = []string{one}
	} else if json.Unmarshal(v, &all) != nil {
		return nil, false
	}
	for i := range all {
		chosen, ok := p.choose(all[i])
		if !ok {
			return nil, false
		}
		all[i] = chosen
	}
	return all, true
}

// elicitation is a request of an MCP server, or of the agent itself, to the user: to fill in a form
// or to visit a page.
type elicitation struct {
	Message string
	Schema  json.RawMessage `json:",omitempty"` // of the form; nil for a page
	URL     string          `json:",omitempty"` // of the page
	ID      string          `json:",omitempty"` // identifies the page; "" if unknown
	Server  string          `json:",omitempty"` // "" if unknown
}

// The answers that are offered for a page and for a form without questions.
const (
	elicitDone    = "done"
	elicitAccept  = "accept"
	elicitDecline = "decline"
)

// readElicitation parses a request. The names of its members differ between agents.
func readElicitation(request []byte) (e elicitation, err error) {
	var m struct {
		Message     string          `json:"message"`
		Mode        string          `json:"mode"`
		Schema      json.RawMessage `json:"requestedSchema"`
		SnakeSchema json.RawMessage `json:"requested_schema"`
		URL         string          `json:"url"`
		ID          string          `json:"elicitationId"`
		SnakeID     string          `json:"elicitation_id"`
		Server      string          `json:"serverName"`
		SnakeServer string          `json:"mcp_server_name"`
	}
	if err := json.Unmarshal(request, &m); err != nil {
		return e, err
	}
	e = elicitation{Message: m.Message, ID: cmp.Or(m.ID, m.SnakeID), Server: cmp.Or(m.Server, m.SnakeServer)}
	switch {
	case m.Mode == "url":
		at, err := url.Parse(m.URL)
		if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
			return e, fmt.Errorf("%q is not the address of a page", m.URL)
		}
		e.URL = m.URL
		return e, nil
	case jsonobject.Begins(m.Schema):
		e.Schema = m.Schema
	case jsonobject.Begins(m.SnakeSchema):
		e.Schema = m.SnakeSchema
	default:
		return e, fmt.Errorf("the mode %q is neither a form with a schema nor a page", m.Mode)
	}
	return e, nil
}

// elicits asks the program the questions of a form, or whether the user has visited a page.
func (s *Output) elicits(id string, e elicitation, payload []byte) {
	q := question{ID: id, message: e.Message, schema: e.Schema, url: e.URL, server: e.Server, payload: payload}
	f := readForm(e.Schema)
	switch q.asks = f.asks(); {
	case e.URL != "":
		q.options = []string{elicitDone, elicitDecline}
		q.message = strings.TrimSpace(e.Message + "\n" + e.URL)
	case len(q.asks) == 0:
		q.options = []string{elicitAccept, elicitDecline}
	}
	s.question(q)
}

// answer returns the result of an elicitation: the filled-in form, consent, or a refusal.
func (e *elicitation) answer(o *ours) obj {
	f := readForm(e.Schema)
	var text string
	switch {
	case o.Error != "":
	case e.URL == "" && len(f.names) > 0:
		if content, ok := f.fillIn(o.Value); ok {
			return obj{"action": "accept", "content": content}
		}
	case json.Unmarshal(o.Value, &text) == nil && slices.Contains([]string{elicitDone, elicitAccept, "yes"}, bare(text)), string(o.Value) == "true":
		if e.URL != "" {
			return obj{"action": "accept"}
		}
		return obj{"action": "accept", "content": obj{}}
	}
	return obj{"action": elicitDecline}
}
