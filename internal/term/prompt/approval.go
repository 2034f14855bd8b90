package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// offer is what a request for approval permits as answers.
type offer struct {
	Args    json.RawMessage `json:"args"`
	Options []string        `json:"options"`
	Default string          `json:"default"` // "no" if an answer by accident must deny the request
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
	views  = "v"
)

// options returns all options, in the order in which they are shown.
func options() []option {
	return []option{
		{"a", "[a]llow once", "allow once yes y ok", decision.Once},
		{"s", "[s]ession", "session", decision.Session},
		{"l", "a[l]ways", "always", decision.Always},
		{denies, "[d]eny", "deny no n", ""},
		{edits, "[e]dit", "edit", ""},
		{views, "[v]iew", "view", ""},
	}
}

// offered returns the options that are available for a request. If an accident must not allow it,
// only the whole word does.
func (d *dialogue) offered(r *offer) []option {
	if r.Default == "no" {
		return []option{{"allow", `type "allow"`, "", decision.Once}, {denies, "[d]eny", "deny no n", ""}, {views, "[v]iew", "view", ""}}
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
// complete decision object if no text expresses the decision. While a part of the request is
// hidden, the user can only deny it or view the whole.
func (d *dialogue) approval(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	var r offer
	_ = json.Unmarshal(message, &r) // a message with other types offers nothing
	if string(r.Args) == "null" {
		r.Args = nil
	}
	v := request.Of(message, d.Read)
	p := screen.Prompt{Text: opening(d.sender, v), Body: rowsOf(v)}
	all, hidden, viewed, note := d.offered(&r), 0, false, ""
	p.Cut = &hidden
	for {
		p.After = strings.TrimPrefix(note+"\n"+choices(all), "\n")
		typed, err := d.askPrompt(ctx, p)
		if err != nil {
			return nil, err
		}
		note = ""
		switch w := chosen(all, typed); {
		case w.letter == denies:
			return d.deny(ctx, &p, v)
		case w.letter == views:
			if err := d.View(ctx, append([]screen.Row{{Text: p.Text}}, p.Body...)); err != nil {
				return nil, err
			}
			viewed = true
		case w.letter == "":
			note = "enter one of the letters in brackets"
			if r.Default == "no" {
				note = "enter the word allow, d or v"
			}
		case hidden > 0 && !viewed:
			note = fmt.Sprintf("press v first: %d lines are hidden", hidden)
		case w.letter == edits:
			input, err := d.edit(ctx, &p, r.Args)
			if err != nil {
				return nil, err
			}
			if input != nil {
				d.printDecision(v, "allowed once with "+terminal.OneLine(string(input)))
				return jsonwrite.MustEncode(map[string]any{"decision": "allow", "scope": decision.Once, "input": input}), nil
			}
		default:
			d.printDecision(v, map[string]string{decision.Once: "allowed once", decision.Session: "allowed for this session", decision.Always: "always allowed"}[w.offered])
			if w.offered == decision.Once {
				return jsonwrite.MustEncode("yes"), nil
			}
			return jsonwrite.MustEncode(w.offered), nil
		}
	}
}

// choices returns the line with the options.
func choices(all []option) string {
	var shown []string
	for _, w := range all {
		shown = append(shown, w.shown)
	}
	return strings.Join(shown, " ")
}

// printDecision prints a request and the decision about it above the view.
func (d *dialogue) printDecision(v *request.View, decided string) {
	d.PrintAbove(remains(d.sender, v) + "\n  " + decided + " at " + d.Now().Format("15:04"))
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

// deny prompts the user for the reason of a denial and returns the answer.
func (d *dialogue) deny(ctx context.Context, p *screen.Prompt, v *request.View) (json.RawMessage, error) {
	who := "host"
	if d.tool {
		who = "caller"
	}
	p.After, p.Label = "denied; enter a reason for the "+who+", or nothing", "reason"
	reason, err := d.askPrompt(ctx, *p)
	switch {
	case errors.Is(err, io.EOF):
		reason = ""
	case err != nil:
		return nil, err
	}
	if reason == "" {
		d.printDecision(v, "denied")
		return jsonwrite.MustEncode("no"), nil
	}
	d.printDecision(v, "denied: "+terminal.OneLine(reason)+",")
	if answer := jsonwrite.MustEncode(reason); decision.Parse(answer).Reason == reason {
		return answer, nil
	}
	// As a plain text, this reason would have another meaning.
	return jsonwrite.MustEncode(map[string]string{"decision": decision.Deny, "reason": reason}), nil
}

// edit lets the user edit the arguments. It returns nil if the user cancels.
func (d *dialogue) edit(ctx context.Context, p *screen.Prompt, args json.RawMessage) (json.RawMessage, error) {
	typed, note := compact(args), ""
	for {
		q := *p
		q.After, q.Label, q.Typed = "edit the arguments, or enter nothing to go back"+note, "input", typed
		text, err := d.askPrompt(ctx, q)
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
