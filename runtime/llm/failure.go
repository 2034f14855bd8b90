package llm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/effect"
)

// Failure is one attempt that gave no reply.
type Failure struct {
	Message    string
	HTTPStatus int           // 0 when there was no answer
	Retryable  bool          // another attempt may succeed
	RetryAfter time.Duration // the provider's wish; 0 without one
	Body       string        // an excerpt of the answer
	Sent       bool          // the request may have reached the provider
	deadline   bool          // it is only the context's end
}

func (f *Failure) Error() string { return f.Message }

// agentError turns a failed attempt into the program's error.
func (l *line) agentError(req *Request, err error) error {
	f, ok := err.(*Failure)
	if !ok {
		return err
	}
	e := effect.Errorf("AgentError", "agent '%s' (connection '%s', model %s): %s", req.Agent, l.Name, req.Model, f.Message)
	if f.Sent {
		e.Status = effect.Unknown
	}
	e.With("model", req.Model).With("provider", l.Name).With("retryable", f.Retryable)
	if f.HTTPStatus != 0 {
		e.With("status", int64(f.HTTPStatus))
	}
	if f.Body != "" {
		e.With("raw_response", f.Body)
	}
	return e
}

// statusFailure is the failure of an answer with an error status. text is the
// provider's own message, or "".
func statusFailure(status int, text, keyEnv string) *Failure {
	message := fmt.Sprintf("the provider answered %d", status)
	if t := http.StatusText(status); t != "" {
		message += " " + t
	}
	if text != "" {
		message += ": " + text
	}
	if hint := statusHint(status, keyEnv); hint != "" {
		message += " (" + hint + ")"
	}
	return &Failure{Message: message, HTTPStatus: status, Retryable: retryableStatus(status), Sent: true}
}

// retryableStatus says whether the same request may succeed later.
func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}

// statusHint is the next step for an error status, or "".
func statusHint(status int, keyEnv string) string {
	switch {
	case status == http.StatusUnauthorized && keyEnv != "":
		return "check the key in " + keyEnv
	case status == http.StatusUnauthorized:
		return "give the connection an api_key_env"
	case status == http.StatusForbidden:
		return "the key may not use this model"
	case status == http.StatusNotFound:
		return "check the model's name and the connection's base_url"
	case status == http.StatusTooManyRequests:
		return "give the agent a retry_policy, or the connection a rate_limit"
	case status >= 300 && status < 400:
		return "write the address that it redirects to as base_url"
	}
	return ""
}

// excerpt is the beginning of an answer, on one line.
func excerpt(body []byte, limit int) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "�")), " ")
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
