package llm

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Failure is the error of one attempt that returned no reply or only a part.
type Failure struct {
	Class      Class
	Message    string
	HTTPStatus int           // 0 without a response
	RetryAfter time.Duration // requested by the provider; 0 without a request
	Body       string        // the response; later shortened to an excerpt
	RequestID  string        // the provider's name for the request, or ""
	Sent       bool          // the request may have reached the provider
	Got        int64         // bytes of the response that arrived
	Partial    bool          // a part of the reply was passed on, so there is no retry
	deadline   bool          // the only cause is the end of the context
}

func (f *Failure) Error() string { return f.Message }

// retryable reports whether another attempt is safe and may succeed.
func (f *Failure) retryable() bool { return classes[f.Class].retry && !f.Partial }

// agentError converts a failed attempt to the program's error.
func (l *line) agentError(req *Request, err error) error {
	f, ok := err.(*Failure)
	if !ok {
		return err
	}
	e := effect.Errorf("AgentError", "agent '%s' (connection '%s', model %s): %s", req.Agent, l.Name, req.Model, f.Message)
	if f.Sent {
		e.Status = effect.Unknown
	}
	e.With("model", req.Model).With("provider", l.Name).With("retryable", f.retryable()).With("reason", string(f.Class))
	if f.HTTPStatus != 0 {
		e.With("status", int64(f.HTTPStatus))
	}
	if f.Body != "" {
		e.With("raw_response", f.Body)
	}
	if f.RequestID != "" {
		e.With("request_id", f.RequestID)
	}
	return e
}

// configError returns the error for a connection with an invalid configuration.
func configError(connection, format string, args ...any) *effect.Error {
	return effect.Errorf("AgentError", format, args...).
		With("provider", connection).With("retryable", false).With("reason", string(ClassConfig))
}

// refusal is the content of an error response.
type refusal struct {
	text       string        // the provider's own message, or ""
	class      Class         // "" if the status determines it
	retryAfter time.Duration // 0 if not set
}

// statusFailure returns the failure of a response with an error status.
func statusFailure(status int, r refusal, keyEnv string) *Failure {
	if r.class == "" {
		r.class = classOf(status)
	}
	message := fmt.Sprintf("the provider answered %d", status)
	if t := http.StatusText(status); t != "" {
		message += " " + t
	}
	if r.text != "" {
		message += ": " + r.text
	}
	if hint := hint(status, r.class, keyEnv); hint != "" {
		message += " (" + hint + ")"
	}
	return &Failure{Class: r.class, Message: message, HTTPStatus: status, RetryAfter: r.retryAfter, Sent: true}
}

// hint returns the next step after a failure, or "".
func hint(status int, class Class, keyEnv string) string {
	switch {
	case class == ClassAuth && status != http.StatusForbidden && keyEnv != "":
		return "check the key in " + keyEnv
	case class == ClassAuth && status == http.StatusUnauthorized:
		return "give the connection an api_key_env"
	case status >= 300 && status < 400:
		return "set base_url to the URL that it redirects to"
	}
	return classes[class].hint
}

// excerpt returns the beginning of a response, on one line.
func excerpt(body []byte, limit int) string {
	body = body[:utf8cut.Before(body, 4*limit)] // a response may have megabytes
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "�")), " ")
	return utf8cut.Short(s, limit)
}
