package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// hostDecision is the value of an answer to a host's request for approval.
type hostDecision struct {
	Decision   string `json:"decision"`
	Scope      string `json:"scope,omitempty"`
	Match      string `json:"match,omitempty"`
	Reason     string `json:"reason,omitempty"`
	ArgsSHA256 string `json:"args_sha256,omitempty"`
}

// EncodeAnswer returns the message that sends a decision to the program. Its error contains the
// name of the invalid field or question.
func EncodeAnswer(q *protocol.PermissionRequested, d approvals.Decision) (protocol.HostdMessage, error) {
	m := protocol.HostdMessage{Answer: q.RequestID, By: d.By, Seal: d.Seal}
	var err error
	switch {
	case q.From != nil && q.From.Kind == protocol.FromApproval:
		m.Value, err = encodeApproval(q, d)
	case d.Decision == approvals.Answer && d.Answer == nil && d.Answers == nil && d.Value != nil: // as an earlier hostd has stored it
		m.Value = d.Value
	case d.Decision == approvals.Answer && d.Sent == approvals.Deny: // the user refused without an answer
		_, m.Value = q.Outcome(d.Sent, nil, nil)
	case d.Decision == approvals.Answer:
		m.Value, err = answerValue(q, d)
	default:
		m.Error = cmp.Or(d.Text, "denied")
	}
	return m, err
}

func encodeApproval(q *protocol.PermissionRequested, d approvals.Decision) (json.RawMessage, error) {
	h := hostDecision{Decision: protocol.DecisionDeny, Reason: d.Text, ArgsSHA256: q.ArgsSHA256}
	if d.Decision == approvals.Approve {
		if a := string(d.Answer); a != "" && a != "true" && a != `"yes"` && a != "null" || d.Answers != nil {
			return nil, errors.New("answer: an approval has no answer: approve or deny it")
		}
		h.Decision, h.Match = "allow", "args"
		if h.Scope = d.Scope; h.Scope == "" {
			h.Scope = "once"
		}
	}
	return json.Marshal(h)
}

// answerValue returns the value that the program receives for the answers in a decision.
func answerValue(q *protocol.PermissionRequested, d approvals.Decision) (json.RawMessage, error) {
	questions := q.Questions
	answers := map[string]json.RawMessage{}
	whole := len(questions) == 1 && questions[0].ID == protocol.WholeAnswer
	switch {
	case d.Answers != nil:
		if err := json.Unmarshal(d.Answers, &answers); err != nil {
			return nil, errors.New("answers must be an object with the values by question id")
		}
	case d.Answer != nil && whole:
		answers[protocol.WholeAnswer] = d.Answer
	case d.Answer != nil:
		if err := json.Unmarshal(d.Answer, &answers); err != nil {
			return nil, errors.New("answer must be an object: values by the questions' ids")
		}
	default:
		_, v := q.Outcome(approvals.Approve, nil, nil)
		if v == nil {
			return nil, errors.New("answer: is missing; give answer, or answers by the questions' ids")
		}
		return v, nil
	}
	for _, q := range questions {
		v, there := answers[q.ID]
		switch {
		case !there && q.Required:
			return nil, fmt.Errorf("%s: missing answer", q.ID)
		case !there:
			continue
		}
		if err := CheckSchema(q, v); err != nil {
			return nil, err
		}
	}
	if whole {
		return answers[protocol.WholeAnswer], nil
	}
	return json.Marshal(answers)
}

// CheckSchema checks that a text is a value that fits the JSON schema of its question.
func CheckSchema(q protocol.Question, v json.RawMessage) error {
	err := schema.CheckAnswer(v, q.Schema)
	switch {
	case err != nil && q.Secret:
		return fmt.Errorf("%s: the answer is not valid", q.ID) // details would quote the secret
	case err != nil:
		return fmt.Errorf("%s: %w", q.ID, err)
	}
	return nil
}
