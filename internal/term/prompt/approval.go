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

// request is a request for approval from a host.
type request struct {
	Description string          `json:"description"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"`
	Kind        string          `json:"kind"`
	Risk        string          `json:"risk_level"`
	Reason      string          `json:"reason"`
	Options     []string        `json:"options"`
	Default     string          `json:"default"` // "no" if an answer by accident must deny the request
}

// option is one of the possible answers to a request for approval.
type option struct {
	letter, shown string
	words         string // further words that select the option
	offered       string // scope that the host must offer for the option, if the host lists scopes
}

const (
	denies = "d"
	edits  = "e"
)

// options returns all options, in the order in which they are shown.
func options() []option {
	return []option{
		{"a", "[a]llow once", "allow once yes y ok", decision.Once},
		{"s", "[s]ession", "session", decision.Session},
		{"l", "a[l]ways", "always", decision.Always},
		{denies, "[d]eny", "deny no n", ""},
		{edits, "[e]dit", "edit", ""},
	}
}

// offered returns the options that are available for a request. If an accident must not allow it,
// only the whole word does.
func (d *dialogue) offered(r *request) []option {
	if r.Default == "no" {
		return []option{{"allow", `type "allow"`, "", decision.Once}, {denies, "[d]eny", "deny no n", ""}}
	}
	scopes := slices.ContainsFunc(r.Options, func(o string) bool { return o == decision.Once || o == decision.Session || o == decision.Always })
	return slices.DeleteFunc(options(), func(w option) bool {
		if w.letter == edits {
			return len(r.Args) == 0 || !d.tool && d.Edits != nil && !d.Edits(d.host)
		}
		return w.offered != "" && scopes && !slices.Contains(r.Options, w.offered)
	})
}

// approval prompts the user for a decision. It returns a text, such as a handler could return, or a
// complete decision object if no text expresses the decision.
func (d *dialogue) approval(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	var r request
	if json.Unmarshal(message, &r) != nil { // a member of the message has an unexpected type
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
				d.printAnswer(about, "allow "+string(input))
				return jsonwrite.MustEncode(map[string]any{"decision": "allow", "scope": decision.Once, "input": input}), nil
			}
		case "":
			note = "\nenter one of the letters in brackets"
			if r.Default == "no" {
				note = "\nenter the word allow, or d"
			}
		default:
			d.printAnswer(about, w.offered)
			if w.offered == decision.Once {
				return jsonwrite.MustEncode("yes"), nil
			}
			return jsonwrite.MustEncode(w.offered), nil
		}
	}
}

// chosen returns the option that the typed text selects. If the text selects none, the option's
// letter is "".
func chosen(all []option, typed string) option {
	typed = strings.ToLower(typed)
	for _, w := range all {
		if typed == w.letter || typed != "" && slices.Contains(strings.Fields(w.words), typed) {
			return w
		}
	}
	return option{}
}

// about describes the action to approve.
func (d *dialogue) about(r *request) string {
	what := r.Description
	if what == "" {
		what = r.Tool
	}
	text := d.sender + " requests approval: " + terminal.OneLine(what)
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

// deny prompts the user for the reason of a denial and returns the answer.
func (d *dialogue) deny(ctx context.Context, about string) (json.RawMessage, error) {
	who := "host"
	if d.tool {
		who = "caller"
	}
	reason, err := d.ask(ctx, about+"\ndenied; enter a reason for the "+who+", or nothing", "reason", "")
	switch {
	case errors.Is(err, io.EOF):
		reason = ""
	case err != nil:
		return nil, err
	}
	if reason == "" {
		d.printAnswer(about, decision.Deny)
		return jsonwrite.MustEncode("no"), nil
	}
	d.printAnswer(about, decision.Deny+": "+reason)
	if answer := jsonwrite.MustEncode(reason); decision.Parse(answer).Reason == reason {
		return answer, nil
	}
	// As a plain text, this reason would have another meaning.
	return jsonwrite.MustEncode(map[string]string{"decision": decision.Deny, "reason": reason}), nil
}

// edit lets the user edit the arguments. It returns nil if the user cancels.
func (d *dialogue) edit(ctx context.Context, about string, args json.RawMessage) (json.RawMessage, error) {
	typed, note := compact(args), ""
	for {
		text, err := d.ask(ctx, about+"\nedit the arguments, or enter nothing to go back"+note, "input", typed)
		switch {
		case err != nil:
			return nil, err
		case text == "":
			return nil, nil
		case json.Valid([]byte(text)) && (args[0] != '{' || text[0] == '{'):
			return json.RawMessage(text), nil
		}
		typed, note = text, "\nnot valid JSON"
		if json.Valid([]byte(text)) {
			note = "\nenter an object, like the original arguments"
		}
	}
}

// compact returns v as JSON on a single line.
func compact(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}
