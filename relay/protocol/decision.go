package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// The outcomes of a request: the forms in which a person's decision is recorded, and the reasons for
// which it was closed without one.
const (
	DecisionApprove   = "approve"
	DecisionDeny      = "deny"
	DecisionAnswer    = "answer"
	DecisionWithdrawn = "withdrawn"
	DecisionExpired   = "expired"
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

// Headline returns the title of a request, and the first line of its body. line is "" if the title
// contains the whole request.
func (q *PermissionRequested) Headline() (title, line string) {
	if q.OpTool == "" && len(q.Questions) > 0 {
		return "Answer a question", FirstLine(q.Prompt, maxLine)
	}
	title, rest, _ := strings.Cut(strings.TrimSpace(q.Prompt), "\n")
	var args struct{ Command, Cmd string }
	_ = json.Unmarshal(q.OpArgs, &args) // arguments of another form
	for _, text := range []string{args.Command, args.Cmd, countLines(q.Diff), rest} {
		if line = FirstLine(text, maxLine); line != "" {
			break
		}
	}
	if line == "" && len(q.OpArgs) > 0 && string(q.OpArgs) != "{}" {
		line = FirstLine(string(q.OpArgs), maxLine)
	}
	return FirstLine(title, maxLine), line
}

// maxLine is the maximum size of a line that Headline returns, in bytes.
const maxLine = 500

// FirstLine returns the first line of a text that is not blank, without surrounding spaces and with
// at most most bytes.
func FirstLine(text string, most int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	const more = "…"
	return text[:utf8cut.Before(text, most-len(more))] + more
}

// countLines returns the numbers of added and removed lines of a diff, or "" without a diff.
func countLines(diff string) string {
	added, removed := 0, 0
	for line := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	if added+removed == 0 {
		return ""
	}
	return fmt.Sprintf("+%d −%d lines", added, removed)
}
