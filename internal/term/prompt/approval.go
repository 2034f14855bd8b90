package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// request is an approval that a host requests.
type request struct {
	Description string          `json:"description"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"`
	Kind        string          `json:"kind"`
	Risk        string          `json:"risk_level"`
	Reason      string          `json:"reason"`
	Options     []string        `json:"options"`
}

// way is a way to answer an approval.
type way struct {
	letter, shown string
	words         string // which mean it too
	offered       string // the option that a host must have for it, if it has any
}

const (
	denies = "d"
	edits  = "e"
)

// ways are all, in the order in which they are shown.
func ways() []way {
	return []way{
		{"a", "[a]llow once", "allow once yes y ok", decision.Once},
		{"s", "[s]ession", "session", decision.Session},
		{"l", "a[l]ways", "always", decision.Always},
		{denies, "[d]eny", "deny no n", ""},
		{edits, "[e]dit", "edit", ""},
	}
}

// offered are the ways that there are for a request.
func (d *dialogue) offered(r *request) []way {
	scopes := slices.ContainsFunc(r.Options, func(o string) bool { return o == decision.Once || o == decision.Session || o == decision.Always })
	return slices.DeleteFunc(ways(), func(w way) bool {
		if w.letter == edits {
			return len(r.Args) == 0 || !d.tool && d.Edits != nil && !d.Edits(d.host)
		}
		return w.offered != "" && scopes && !slices.Contains(r.Options, w.offered)
	})
}

// approval has an approval decided. The answer is a text as a handler would give
// it, or a decision in full where a text does not say it.
func (d *dialogue) approval(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	var r request
	if json.Unmarshal(message, &r) != nil { // a member of another type than it should have
		r = request{Description: string(message)}
	}
	if string(r.Args) == "null" {
		r.Args = nil
	}
	about, all := d.about(&r), d.offered(&r)
	var shown []string
	for _, w := range all {
		shown = append(shown, w.shown)
	}
	choices := "\n" + strings.Join(shown, " ")
	note := ""
	for {
		typed, err := d.ask(ctx, about+note+choices, "", "")
		if err != nil {
			return nil, err
		}
		note = ""
		switch w := chosen(all, typed); w.letter {
		case denies:
			return d.deny(ctx, about)
		case edits:
			input, err := d.edit(ctx, about, r.Args)
			if err != nil {
				return nil, err
			}
			if input != nil {
				d.leave(about, "allow "+string(input))
				return jsonwrite.MustEncode(map[string]any{"decision": "allow", "scope": decision.Once, "input": input}), nil
			}
		case "":
			note = "\ntype one of the letters in brackets"
		default:
			d.leave(about, w.offered)
			if w.offered == decision.Once {
				return jsonwrite.MustEncode("yes"), nil
			}
			return jsonwrite.MustEncode(w.offered), nil
		}
	}
}

// chosen is the way that a text means; the zero way is none.
func chosen(all []way, typed string) way {
	typed = strings.ToLower(typed)
	for _, w := range all {
		if typed == w.letter || typed != "" && slices.Contains(strings.Fields(w.words), typed) {
			return w
		}
	}
	return way{}
}

// about describes what must be approved.
func (d *dialogue) about(r *request) string {
	what := r.Description
	if what == "" {
		what = r.Tool
	}
	text := terminal.OneLine(d.host) + " asks for approval: " + terminal.OneLine(what)
	var kinds []string
	if r.Kind != "" {
		kinds = append(kinds, r.Kind)
	}
	if r.Risk != "" {
		kinds = append(kinds, "risk "+r.Risk)
	}
	if len(kinds) > 0 {
		text += "\n  " + terminal.OneLine(strings.Join(kinds, ", "))
	}
	if len(r.Args) > 0 {
		text += "\n  " + terminal.OneLine(compact(r.Args))
	}
	if r.Reason != "" {
		text += "\n  " + terminal.OneLine(r.Reason)
	}
	return text
}

// deny asks the user for the reason of a denial.
func (d *dialogue) deny(ctx context.Context, about string) (json.RawMessage, error) {
	who := "host"
	if d.tool {
		who = "caller"
	}
	reason, err := d.ask(ctx, about+"\ndenied; a reason tells the "+who+" what to do instead", "reason", "")
	switch {
	case errors.Is(err, io.EOF):
		reason = ""
	case err != nil:
		return nil, err
	}
	if reason == "" {
		d.leave(about, decision.Deny)
		return jsonwrite.MustEncode("no"), nil
	}
	d.leave(about, decision.Deny+": "+reason)
	if answer := jsonwrite.MustEncode(reason); decision.Parse(answer).Reason == reason {
		return answer, nil
	}
	return jsonwrite.MustEncode(map[string]string{"decision": decision.Deny, "reason": reason}), nil // as a text it would mean something else
}

// edit lets the user edit the arguments; it returns nil if the user cancels.
func (d *dialogue) edit(ctx context.Context, about string, args json.RawMessage) (json.RawMessage, error) {
	typed, note := compact(args), ""
	for {
		text, err := d.ask(ctx, about+"\nit is to do this instead; nothing goes back"+note, "input", typed)
		switch {
		case err != nil:
			return nil, err
		case text == "":
			return nil, nil
		case json.Valid([]byte(text)) && (args[0] != '{' || text[0] == '{'):
			return json.RawMessage(text), nil
		}
		typed, note = text, "\nthat is not JSON"
		if json.Valid([]byte(text)) {
			note = "\nit must be an object, as what it takes the place of is one"
		}
	}
}

// compact is JSON on one line.
func compact(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}
