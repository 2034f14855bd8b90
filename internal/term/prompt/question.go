package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// choice is one of the options of a question. In JSON it is a text or an object with a label.
type choice struct{ Label, Description string }

// UnmarshalJSON accepts a text or an object with a label. For any other value, the label is the
// JSON text.
func (c *choice) UnmarshalJSON(text []byte) error {
	type object choice
	if json.Unmarshal(text, (*object)(c)) == nil && c.Label != "" {
		return nil
	}
	if json.Unmarshal(text, &c.Label) != nil {
		c.Label = string(text)
	}
	return nil
}

// inquiry is a question. A message may contain several.
type inquiry struct {
	ID       json.RawMessage `json:"id"`
	Question string          `json:"question"`
	Context  string          `json:"context"`
	Header   string          `json:"header"`
	Options  []choice        `json:"options"`
	Multi    bool            `json:"multi"`
	Secret   bool            `json:"secret"` // the answer is not shown
}

// name returns the key of the question in the answer to several questions: the question's id, or
// its text if it has no id.
func (q *inquiry) name() string {
	var id string
	switch {
	case json.Unmarshal(q.ID, &id) == nil && id != "":
		return id
	case len(q.ID) > 0 && !bytes.Equal(q.ID, []byte("null")):
		return string(q.ID)
	}
	return q.Question
}

// question asks the user the questions of a message. The answer is a text, a list if several
// options can be chosen, or a map if the message contains several questions.
func (d *dialogue) question(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	var m struct {
		inquiry
		Questions []inquiry `json:"questions"`
	}
	if err := json.Unmarshal(message, &m); err != nil { // a member of the message has an unexpected type
		m.inquiry = inquiry{Question: string(message)}
	}
	if len(m.Questions) == 0 {
		return d.askOne(ctx, &m.inquiry, "")
	}
	if len(m.Questions) == 1 {
		return d.askOne(ctx, &m.Questions[0], "")
	}
	answers := map[string]json.RawMessage{}
	for i := range m.Questions {
		q := &m.Questions[i]
		v, err := d.askOne(ctx, q, fmt.Sprintf(" (%d of %d)", i+1, len(m.Questions)))
		if err != nil {
			return nil, err
		}
		answers[q.name()] = v
	}
	return jsonwrite.MustEncode(answers), nil
}

// askOne asks one question.
func (d *dialogue) askOne(ctx context.Context, q *inquiry, which string) (json.RawMessage, error) {
	head := d.sender + " asks" + which + ": "
	if q.Header != "" && q.Header != q.Question {
		head += "[" + terminal.OneLine(q.Header) + "] "
	}
	hidden, note := 0, ""
	p := screen.Prompt{Text: head + terminal.Escape(q.Question), Body: q.rows(), Cut: &hidden}
	for {
		p.After = strings.TrimSpace(note + "\n" + q.how())
		typed, err := d.askOnce(ctx, q, p)
		if err != nil {
			return nil, err
		}
		if hidden > 0 && strings.EqualFold(typed, views) {
			if err := d.View(ctx, append([]screen.Row{{Text: p.Text}}, p.Body...)); err != nil {
				return nil, err
			}
			continue
		}
		answer, wrong := q.read(typed)
		if wrong == "" && q.Secret {
			d.printAnswer(head+terminal.Brief(q.Question, mostLeft), "(not shown)")
			return answer, nil
		}
		if wrong == "" {
			d.printAnswer(head+terminal.Brief(q.Question, mostLeft), plain(answer))
			return answer, nil
		}
		note = wrong
	}
}

// rows returns the context of a question and its options.
func (q *inquiry) rows() (rows []screen.Row) {
	if q.Context != "" && q.Context != q.Question {
		for line := range strings.SplitSeq(strings.TrimRight(q.Context, "\n"), "\n") {
			rows = append(rows, screen.Row{Lead: "  ", Text: shownLine(line)})
		}
	}
	for i, c := range q.Options {
		text := terminal.OneLine(c.Label)
		if c.Description != "" {
			text += ": " + terminal.OneLine(c.Description)
		}
		rows = append(rows, screen.Row{Lead: fmt.Sprintf("  %d) ", i+1), Text: text})
	}
	return rows
}

// how returns which answers a question accepts, or "" for any text.
func (q *inquiry) how() string {
	var ways []string
	if n := len(q.Options); n > 1 {
		ways = append(ways, fmt.Sprintf("1-%d, or your own words", n))
	}
	if q.Multi {
		ways = append(ways, "separate several answers by commas")
	}
	return strings.Join(ways, "; ")
}

// askOnce shows a question and returns the typed line.
func (d *dialogue) askOnce(ctx context.Context, q *inquiry, p screen.Prompt) (string, error) {
	if !q.Secret {
		return d.askPrompt(ctx, p)
	}
	p.Label, p.Hidden, p.Until = "(not shown) > ", true, d.until
	return d.Terminal.Ask(ctx, p)
}

// read parses the typed text, which may be the number or the label of an option, or any text. wrong
// is the reason why the text is invalid, or "".
func (q *inquiry) read(typed string) (answer json.RawMessage, wrong string) {
	if len(q.Options) == 0 && !q.Multi {
		return jsonwrite.MustEncode(typed), ""
	}
	parts := []string{typed}
	if q.Multi {
		parts = strings.Split(typed, ",")
	}
	chosen := []string{}
	for _, p := range parts {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		text, wrong := q.optionText(p)
		if wrong != "" {
			return nil, wrong
		}
		chosen = append(chosen, text)
	}
	switch {
	case q.Multi:
		return jsonwrite.MustEncode(chosen), ""
	case len(chosen) == 0:
		return nil, "enter a number or your own answer"
	}
	return jsonwrite.MustEncode(chosen[0]), ""
}

func (q *inquiry) optionText(p string) (text, wrong string) {
	if n, err := strconv.Atoi(p); err == nil {
		if n < 1 || n > len(q.Options) {
			return "", fmt.Sprintf("no option %d", n)
		}
		return q.Options[n-1].Label, ""
	}
	if at := slices.IndexFunc(q.Options, func(c choice) bool { return strings.EqualFold(c.Label, p) }); at >= 0 {
		return q.Options[at].Label, ""
	}
	return p, ""
}

// plain returns a value in a readable form.
func plain(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}
