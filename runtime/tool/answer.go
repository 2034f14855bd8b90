package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Answer forms of handlers that are not Go functions.
const (
	AnswerJSON  = "json"  // a Result, or any other JSON as the output; the default
	AnswerText  = "text"  // a text as the output
	AnswerLines = "lines" // of a command: a long-lived process that speaks JSON-RPC
)

// DefaultMaxOutput is the default maximum size of an answer in bytes.
const DefaultMaxOutput = 1 << 20

// quoted is the maximum number of characters of a text that messages quote.
const quoted = 200

// handlerMessage returns the input of a handler that is not a Go function, as one line of JSON.
func handlerMessage(input json.RawMessage, c *Context) ([]byte, error) {
	return jsonwrite.Encode(struct {
		Input   json.RawMessage `json:"input"`
		Context CallInfo        `json:"context"`
	}{input, c.CallInfo()})
}

// readAnswer parses the answer of a successful call in the given form.
func readAnswer(form string, text []byte) Result {
	if form == AnswerText {
		output, err := jsonwrite.Encode(strings.ToValidUTF8(string(text), "\ufffd"))
		if err != nil {
			return Failure("%v", err)
		}
		return Result{Success: true, Output: output}
	}
	if r, ok := readResult(text); ok {
		return r
	}
	output, ok := compact(text)
	if !ok {
		return Failure("returned no JSON: %s", beginning(text, quoted))
	}
	return Result{Success: true, Output: output}
}

// readResult parses a Result, an object with a Boolean `success`. If another member has the wrong
// type, the Result is a failure that names the member.
func readResult(text []byte) (Result, bool) {
	var has struct {
		Success *bool `json:"success"`
	}
	if !utf8.Valid(text) || json.Unmarshal(text, &has) != nil || has.Success == nil {
		return Result{}, false
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return Failure("returned an invalid result: %v", err), true
	}
	r.Output, _ = compact(r.Output)
	if !r.Success && r.Error == "" && r.Output == nil {
		r.Error = "failed without an error message"
	}
	return r, true
}

// compact returns a JSON text without white space. It returns false if the text is not JSON.
func compact(text []byte) (json.RawMessage, bool) {
	if len(text) == 0 || !utf8.Valid(text) {
		return nil, false
	}
	var b bytes.Buffer
	b.Grow(len(text))
	if json.Compact(&b, text) != nil {
		return nil, false
	}
	return b.Bytes(), true
}

// beginning returns the first n characters of a text.
func beginning(text []byte, n int) string {
	short := string(text[:min(len(text), utf8.UTFMax*n)])
	runes := []rune(strings.ToValidUTF8(short, "\ufffd"))
	if len(runes) <= n && len(short) == len(text) {
		return string(runes)
	}
	return string(runes[:min(n, len(runes))]) + "…"
}

// form adds an error unless answer is one of the forms.
func (r *rules) form(at string, answer *string, forms ...string) {
	if *answer == "" {
		*answer = AnswerJSON
	}
	if !slices.Contains(forms, *answer) {
		r.addProblem(at, "must be one of %s, not %q", strings.Join(forms, ", "), *answer)
	}
}

// most adds an error if the limit in bytes is invalid.
func (r *rules) most(at string, n *int) {
	if *n == 0 {
		*n = DefaultMaxOutput
	}
	if *n < 1 {
		r.addProblem(at, "must be 1 or more, not %d", *n)
	}
}

// checkVariable adds an error if the name is not valid for an environment variable.
func (r *rules) checkVariable(at, name string) {
	if name == "" || strings.ContainsAny(name, "=*\x00") {
		r.addProblem(at, "must be the name of an environment variable, not %q", name)
	}
}

// tooMuch returns the error text for an answer that exceeds its limit.
func tooMuch(most int) string { return fmt.Sprintf("returned more than %d bytes (max_output)", most) }
