package protocol

import (
	"encoding/json"
	"slices"
	"strings"
)

// The outcomes of a request: the forms in which a person's decision is recorded, and the reasons
// for which it was closed without one.
const (
	DecisionApprove   = "approve"
	DecisionDeny      = "deny"
	DecisionAnswer    = "answer"
	DecisionWithdrawn = "withdrawn"
	DecisionExpired   = "expired"
	DecisionSealed    = "sealed" // only the machine knows it
)

// IsQuestion reports whether a request expects an answer. All other requests are approved or
// denied.
func (q *PermissionRequested) IsQuestion() bool {
	if q.From != nil && q.From.Kind != FromTerminal {
		return q.From.WantsValue()
	}
	return len(q.Questions) > 0
}

// Outcome returns the recorded form of a decision (approve or deny) about the request, and the
// value of the answer. If the request has a single question with the id WholeAnswer, the value is
// the answer to it. Otherwise the value is an object with the answers by question id. The value is
// nil if there is no answer.
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

// plain returns the value that represents a plain yes or no as the answer to a program's question.
// It returns nil if the question has no such value.
func (q *PermissionRequested) plain(yes bool) json.RawMessage {
	if len(q.Questions) != 1 || q.Questions[0].ID != WholeAnswer || q.From == nil || !q.From.WantsValue() {
		return nil
	}
	value, ok := map[string][2]string{KindConfirm: {"false", "true"}, KindText: {`"no"`, `"yes"`}}[q.Questions[0].Kind]
	switch {
	case !ok:
		return nil
	case yes:
		return json.RawMessage(value[1])
	}
	return json.RawMessage(value[0])
}

// IsSecret reports whether the answer to the request must be neither stored nor shown.
func (q *PermissionRequested) IsSecret() bool {
	return slices.ContainsFunc(q.Questions, func(one Question) bool { return one.Secret })
}

// Unseen returns the reason why people at the relay cannot see everything that they would approve,
// and what they can do instead. It returns "" if nothing is missing. Such a request can only be
// denied there.
func (q *PermissionRequested) Unseen() string {
	var args struct {
		Truncated json.RawMessage `json:"$truncated"`
		Content   bool            `json:"content_truncated"`
	}
	_ = json.Unmarshal(q.OpArgs, &args) // arguments of another form are complete
	switch {
	case args.Truncated != nil:
		return "only a part of the request's arguments was sent, because they are too large" + unseenHint
	case args.Content && q.Diff == "":
		return "only the beginning of the content was sent" + unseenHint
	case strings.HasSuffix(q.Diff, cutNote):
		return "the end of the diff was not sent, because it is longer than 64 KiB" + unseenHint
	}
	return ""
}

const unseenHint = ": deny it, or decide on the machine of the run"

// ShortJSON returns v if it has at most most bytes. Otherwise it returns an object with the length
// and the beginning of v.
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

// MaxAnswer is the maximum size of an answer's value in an event, in bytes.
const MaxAnswer = 4096
