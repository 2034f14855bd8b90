package report

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Limits on the contents of a report, in bytes.
const (
	maxText  = 64 << 10
	maxTexts = 256 << 20
)

// all returns the contents with their names in JSON.
func (t *Texts) all() map[string]*json.RawMessage {
	return map[string]*json.RawMessage{"prompt": &t.Prompt, "request": &t.Request, "reply": &t.Reply, "args": &t.Args, "result": &t.Result,
		"payload": &t.Payload, "answer": &t.Answer, "text": &t.Text, "message": &t.Message}
}

// WithoutContent removes what the program, models and hosts wrote, and the values of answers.
func (r *Report) WithoutContent() {
	for _, x := range r.Items {
		x.Texts, x.Error, x.Details.Cause = Texts{}, "", nil
	}
	for i := range r.Decisions {
		r.Decisions[i].Request, r.Decisions[i].Answer = nil, nil
	}
	for _, u := range r.Cache {
		for _, b := range u.Breaks {
			b.Before, b.After = "", ""
		}
	}
	if r.Fleet != nil {
		for i := range r.Fleet.Tasks {
			t := &r.Fleet.Tasks[i]
			t.Note, t.Last = "", ""
		}
	}
	r.Run.Args, r.Run.Inputs = []string{}, nil
	r.Gaps = append(r.Gaps, "no contents: built with --content none")
}

// Limit cuts long texts. If all texts together are still too long, it removes those of the oldest
// items.
func (r *Report) Limit() { r.limit(maxText, maxTexts) }

func (r *Report) limit(one, all int) {
	size := 0
	for _, x := range r.Items {
		for name, text := range x.Texts.all() {
			if len(*text) > one {
				if x.Cut == nil {
					x.Cut = map[string]int{}
				}
				x.Cut[name] = len(*text)
				*text = encode(cut(shown(*text), one))
			}
			size += len(*text)
		}
	}
	dropped := 0
	for i := 0; size > all && i < len(r.Items); i++ {
		for _, text := range r.Items[i].Texts.all() {
			size -= len(*text)
		}
		r.Items[i].Texts = Texts{}
		dropped++
	}
	if dropped > 0 {
		r.Gaps = append(r.Gaps, fmt.Sprintf("no contents of the first %d items: the report would be larger than %d MiB", dropped, all>>20))
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		for _, text := range []*json.RawMessage{&d.Request, &d.Answer} {
			if len(*text) > one {
				*text = encode(cut(shown(*text), one))
			}
		}
	}
}

// cut returns the longest beginning of a text that has at most most bytes.
func cut(s string, most int) string { return s[:utf8cut.Before(s, most)] }

// shown returns a JSON string as text, and another value as JSON.
func shown(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
