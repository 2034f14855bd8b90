package protocol

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// RedactedNote follows the text of a request from which secrets were removed.
const RedactedNote = " (secrets are redacted)"

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

// AnswerForm returns the form of the JSON answer that a request requires, or "" if approving the
// request needs no answer.
func (q *PermissionRequested) AnswerForm() string {
	if len(q.Questions) == 0 || !q.IsQuestion() || q.IsSecret() && q.From != nil && q.From.Kind == FromTerminal {
		return ""
	}
	if one := &q.Questions[0]; len(q.Questions) == 1 && one.ID == WholeAnswer {
		if one.Kind == KindConfirm {
			return ""
		}
		return one.form()
	}
	var members []string
	for i := range q.Questions {
		members = append(members, fmt.Sprintf("%q: %s", q.Questions[i].ID, q.Questions[i].form()))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// form returns the form of a question's answer as an example or a list of choices.
func (q *Question) form() string {
	var values []string
	for _, o := range q.Options {
		values = append(values, string(o.Value))
	}
	all := strings.Join(values, " | ")
	switch {
	case q.Kind == KindConfirm:
		return "true | false"
	case q.Kind == KindMulti:
		return "[" + all + "]"
	case len(values) > 0:
		return all
	case q.Kind == KindText:
		return `"…"`
	}
	return "…"
}
