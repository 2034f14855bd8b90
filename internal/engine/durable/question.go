package durable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Question returns the open question with this id, or nil.
func (s *Shown) Question(id string) *ShownQuestion {
	for i := range s.Pending {
		if s.Pending[i].ID == id {
			return &s.Pending[i]
		}
	}
	for _, u := range s.Unknown {
		if u.ID == id && u.Policy == PolicyAsk {
			return &ShownQuestion{ID: id, Channel: journal.UnknownChannel, Type: journal.Resolutions, Payload: json.RawMessage("null"), Since: u.Began, outcomeOf: effect.Kind(u.Kind)}
		}
	}
	return nil
}

// Read parses an answer that a person typed. The answer is a text if the question expects a text or
// any value, and isJSON is not set. Otherwise it is JSON. The error is the reason why the answer is
// invalid.
func (q *ShownQuestion) Read(text string, isJSON bool) (json.RawMessage, error) {
	asText, err := jsonwrite.Encode(text)
	if err != nil {
		return nil, err
	}
	if q.outcomeOf != "" {
		if !journal.IsResolution(text) {
			return nil, fmt.Errorf("%q is not one of %s", text, journal.Resolutions)
		}
		_, err := resolvedResult(q.outcomeOf, text)
		return asText, err
	}
	if !isJSON && q.ReadsObject(text) {
		isJSON = true
	}
	if word, ok := meant(text, q.schema); ok && !isJSON {
		return word, nil
	}
	if !isJSON && (q.schema == nil || acceptsText(q.schema)) {
		return asText, q.checkType(asText)
	}
	if isJSON || json.Valid([]byte(text)) || strings.ContainsAny(text[:min(1, len(text))], `{["`) {
		return json.RawMessage(text), q.checkType([]byte(text))
	}
	return asText, q.checkType(asText) // the unquoted text is a valid value, such as the name of a variant
}

// meant returns the value that a person means by a word, if the schema is that of a Bool or of
// names, or of an Option of them.
func meant(text string, of []byte) (json.RawMessage, bool) {
	type form struct {
		Type  any    `json:"type"`
		Enum  []any  `json:"enum"`
		AnyOf []form `json:"anyOf"`
	}
	var s form
	if of == nil || json.Unmarshal(of, &s) != nil {
		return nil, false
	}
	if len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null" {
		s = s.AnyOf[0]
	}
	if yes, ok := schema.YesOrNo(text); ok && s.Type == "boolean" {
		return json.RawMessage(strconv.FormatBool(yes)), true
	}
	var names []string
	for _, v := range s.Enum {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	name, ok := schema.NameOf(strings.TrimSpace(text), names)
	return jsonwrite.Text(nil, name), ok
}

// ReadsObject reports whether Read parses a text as JSON although the question has no type: the
// text is an object, and the question is a request for approval, whose answer may be an object.
func (q *ShownQuestion) ReadsObject(text string) bool {
	return q.approval && strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// acceptsText reports whether values of a schema are texts.
func acceptsText(schema []byte) bool {
	var s struct {
		Type any
		Enum []any
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	for _, v := range s.Enum {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return s.Type == "string" || s.Type == nil && len(s.Enum) > 0
}

// checkType returns an error if a text is not a value of the type that the question expects.
func (q *ShownQuestion) checkType(text []byte) error { return schema.CheckAnswer(text, q.schema) }

// isQuestion reports whether the effect of a begin record waits for an answer.
func isQuestion(r *journal.Record) bool {
	return r.Class == effect.ClassWaits.String() && r.Kind != string(effect.KindSleep) && r.Kind != string(effect.KindQueueWait)
}

// WasAsked reports whether a run has asked a question.
func WasAsked(h *journal.History, id string) bool {
	for _, r := range h.Records {
		if r.RecordKind == journal.KBegin && isQuestion(r) && journal.QuestionID(r.Effect) == id {
			return true
		}
	}
	return false
}

// The policies of [run.unknown] and @on_unknown.
const (
	policyRetry = "retry"
	policyFail  = "fail"
	PolicyAsk   = "ask"
)

// resolvedResult returns the result in a resolution about an effect of this kind. It returns nil
// for a call of an MCP tool, whose result recoverCall creates, for effects without a result, and
// for resolutions other than done. The error is that the result is missing or does not fit the
// effect.
func resolvedResult(kind effect.Kind, resolution string) (effect.Result, error) {
	text, done := strings.CutPrefix(resolution, "done")
	if !done || kind == effect.KindMCPOpen {
		return nil, nil
	}
	text = strings.TrimPrefix(text, ":")
	row := effect.Lookup(kind)
	switch {
	case row.Result == nil && text == "":
		return nil, nil
	case row.Result == nil:
		return nil, fmt.Errorf("%s has no result: answer done", kind)
	case text == "" && row.Class == effect.ClassSettled:
		return row.Result(), nil
	case text == "" || text == "null":
		example, err := json.Marshal(row.Result())
		return nil, cmp.Or(err, fmt.Errorf("%s requires its result, for example done:%s", kind, example))
	}
	if err := schema.CheckAnswer([]byte(text), nil); err != nil {
		return nil, fmt.Errorf("invalid result for %s: %w", kind, err)
	}
	strict := json.NewDecoder(strings.NewReader(text))
	strict.DisallowUnknownFields()
	result := row.Result()
	if err := strict.Decode(result); err != nil {
		return nil, fmt.Errorf("invalid result for %s: %v", kind, err)
	}
	return result, nil
}
