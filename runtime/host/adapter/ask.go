package adapter

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// ask is one question of a vendor's agent. It becomes a HostAsk of the program.
type ask struct {
	ID       string      `json:"id"`
	Question string      `json:"question"`
	Header   string      `json:"header,omitempty"`
	Options  []askOption `json:"options"`
	Multi    bool        `json:"multi"`
	Secret   bool        `json:"secret,omitempty"` // the answer is neither shown nor recorded
}

type askOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// question is a message with one or several questions of an agent.
type question struct {
	ID      string
	call    string   // the agent's ID of the call that asks; "" if it has none
	message string   // text for programs that ignore asks; "" means the texts of asks
	options []string // nil means the options of the only question
	asks    []ask
	schema  []byte // of the answer; nil for none
	url     string // page that the user is asked to visit; "" for none
	server  string // MCP server that asks; "" if the agent itself does
	payload []byte
}

func (s *Output) question(q question) {
	o := q.object()
	s.addAgent(o)
	s.addOrigin(o, q.call)
	o.Raw("payload", q.payload)
	s.addMessage(o)
}

// object returns the beginning of the message.
func (q *question) object() *jsonobject.Object {
	if q.message == "" {
		var all []string
		for _, a := range q.asks {
			all = append(all, a.Question)
		}
		q.message = strings.Join(all, "\n")
	}
	o := jsonobject.New("question")
	o.Text("id", q.ID)
	o.Text("question", q.message)
	if q.options == nil && len(q.asks) == 1 {
		for _, option := range q.asks[0].Options {
			q.options = append(q.options, option.Label)
		}
	}
	if q.options != nil {
		o.Raw("options", jsonwrite.MustEncode(q.options))
	}
	for i := range q.asks {
		if q.asks[i].Options == nil {
			q.asks[i].Options = []askOption{}
		}
	}
	if q.asks == nil {
		q.asks = []ask{}
	}
	o.Raw("questions", jsonwrite.MustEncode(q.asks))
	if slices.ContainsFunc(q.asks, func(a ask) bool { return a.Secret }) {
		o.Raw(effect.SecretQuestion, []byte("true"))
	}
	if q.schema != nil {
		o.Raw("schema", q.schema)
	}
	if q.url != "" {
		o.Text("url", q.url)
	}
	if q.server != "" {
		o.Text("server", q.server)
	}
	return o
}

// answersTo returns the answer to each question, or nil for a question without an answer. The value
// itself answers a single question. Several questions are answered by a map (by ID, question or
// header), by a list in order, or by one text for all.
func answersTo(asks []ask, answer json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(asks))
	if byName := jsonobject.MembersOf(answer); byName != nil {
		for i, a := range asks {
			for _, name := range []string{a.ID, a.Question, a.Header} {
				at := slices.IndexFunc(byName, func(m jsonread.Member) bool { return m.Name == name })
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

// nonEmpty returns v, or nil if v is missing, null or an empty string.
func nonEmpty(v json.RawMessage) json.RawMessage {
	if len(v) == 0 || string(v) == "null" || string(v) == `""` {
		return nil
	}
	return v
}

func isText(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

// chosen returns the answer to a as texts, with labels in the vendor's spelling. It returns nil if
// the answer is neither a text nor, for a question with several choices, a list of texts.
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

// label returns the label that equals the text, ignoring case and surrounding blanks, or the text
// itself.
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
