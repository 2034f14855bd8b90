package adapter

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// ask is one question of a vendor's agent: a HostAsk.
type ask struct {
	ID       string      `json:"id"`
	Question string      `json:"question"`
	Header   string      `json:"header,omitempty"`
	Options  []askOption `json:"options"`
	Multi    bool        `json:"multi"`
}

type askOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// question asks all of asks at once. Its text is for programs that ignore asks: message, or the
// questions.
func (s *Output) question(id, message string, asks []ask, schema, payload []byte) {
	if message == "" {
		var all []string
		for _, a := range asks {
			all = append(all, a.Question)
		}
		message = strings.Join(all, "\n")
	}
	o := jsonobject.New("question")
	o.Text("id", id)
	o.Text("question", message)
	if len(asks) == 1 && len(asks[0].Options) > 0 {
		var labels []string
		for _, option := range asks[0].Options {
			labels = append(labels, option.Label)
		}
		o.Raw("options", jsonwrite.MustEncode(labels))
	}
	for i := range asks {
		if asks[i].Options == nil {
			asks[i].Options = []askOption{}
		}
	}
	o.Raw("questions", jsonwrite.MustEncode(asks))
	if schema != nil {
		o.Raw("schema", schema)
	}
	o.Raw("payload", payload)
	s.addMessage(o)
}

// answersTo returns the answers to each of asks, or nil for those without one. A single question is
// answered by the value itself; several by a map by id, question or header, by a list in order, or
// by one text for each.
func answersTo(asks []ask, answer json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(asks))
	if byName := jsonobject.MembersOf(answer); byName != nil {
		for i, a := range asks {
			for _, name := range []string{a.ID, a.Question, a.Header} {
				at := slices.IndexFunc(byName, func(m jsonobject.Member) bool { return m.Name == name })
				if name != "" && at >= 0 {
					out[i] = nonEmpty(byName[at].Value)
					break
				}
			}
		}
		return out
	}
	var list []json.RawMessage
	if len(asks) > 1 && json.Unmarshal(answer, &list) == nil {
		for i := range min(len(asks), len(list)) {
			out[i] = nonEmpty(list[i])
		}
		return out
	}
	if len(asks) == 1 || isText(answer) {
		for i := range asks {
			out[i] = nonEmpty(answer)
		}
	}
	return out
}

// nonEmpty returns nil for an empty answer: nothing, null, an empty text.
func nonEmpty(v json.RawMessage) json.RawMessage {
	if len(v) == 0 || string(v) == "null" || string(v) == `""` {
		return nil
	}
	return v
}

func isText(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

// chosen returns the answer to a as texts, with labels as the vendor wrote them; none if it is
// neither a text nor, for several choices, a list of texts.
func (a *ask) chosen(v json.RawMessage) []string {
	var one string
	if v == nil {
		return nil
	}
	if json.Unmarshal(v, &one) == nil {
		return []string{a.label(one)}
	}
	var many []string
	if json.Unmarshal(v, &many) != nil || !a.Multi && len(many) != 1 {
		return nil
	}
	for i := range many {
		many[i] = a.label(many[i])
	}
	return many
}

// label returns the label that a text means, ignoring case and blanks, or the text.
func (a *ask) label(text string) string {
	for _, o := range a.Options {
		if bare(o.Label) == bare(text) {
			return o.Label
		}
	}
	return text
}

func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
