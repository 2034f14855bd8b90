package protocol

import (
	"encoding/json"
	"slices"
	"strings"
)

// The recorded forms of a person's decision.
const (
	DecisionApprove = "approve"
	DecisionDeny    = "deny"
	DecisionAnswer  = "answer"
)

// IsQuestion reports whether a request expects an answer. The others are approved or denied.
func (q *PermissionRequested) IsQuestion() bool {
	if q.From != nil && q.From.Kind != "pty" {
		return q.From.WantsValue()
	}
	return len(q.Questions) > 0
}

// Outcome returns the recorded form of a decision (approve or deny) on the request, and the value
// of an answer: of a single question with id WholeAnswer its value, otherwise an object by the
// questions' ids. The value is nil if there is none.
func (q *PermissionRequested) Outcome(decision string, answer, answers json.RawMessage) (string, json.RawMessage) {
	if !q.IsQuestion() {
		return decision, nil
	}
	yes := decision != DecisionDeny
	whole := len(q.Questions) == 1 && q.Questions[0].ID == WholeAnswer
	if yes && whole && answer == nil && answers != nil {
		var all map[string]json.RawMessage
		if answer = answers; json.Unmarshal(answers, &all) == nil && all[WholeAnswer] != nil {
			answer = all[WholeAnswer]
		}
	} else if yes && answers != nil {
		answer = answers
	}
	switch {
	case yes && answer != nil:
		return DecisionAnswer, answer
	case yes:
		return DecisionAnswer, q.plain(true)
	}
	if no := q.plain(false); no != nil {
		return DecisionAnswer, no
	}
	return decision, nil
}

// plain returns the value of a plain yes or no for a program's question that has one.
func (q *PermissionRequested) plain(yes bool) json.RawMessage {
	if len(q.Questions) != 1 || q.Questions[0].ID != WholeAnswer || q.From == nil || !q.From.WantsValue() {
		return nil
	}
	value, ok := map[string][2]string{"confirm": {"false", "true"}, "text": {`"no"`, `"yes"`}}[q.Questions[0].Kind]
	switch {
	case !ok:
		return nil
	case yes:
		return json.RawMessage(value[1])
	}
	return json.RawMessage(value[0])
}

// IsSecret reports whether an answer to the request must not be stored or shown.
func (q *PermissionRequested) IsSecret() bool {
	return slices.ContainsFunc(q.Questions, func(one Question) bool { return one.Secret })
}

// ShortJSON returns v, or if it is longer than most bytes, an object with its length and beginning.
func ShortJSON(v json.RawMessage, most int) json.RawMessage {
	if len(v) <= most {
		return v
	}
	preview := strings.ToValidUTF8(string(v[:most/8]), "") // an escape takes up to six bytes
	text, err := json.Marshal(struct {
		Truncated int    `json:"$truncated"`
		Preview   string `json:"preview"`
	}{len(v), preview})
	if err != nil {
		panic("protocol: a text is no JSON: " + err.Error())
	}
	return text
}

// MaxAnswer limits the value of an answer in its event, in bytes.
const MaxAnswer = 4096
