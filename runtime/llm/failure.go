package llm

import (
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	http "github.com/concerto-lang/concerto/runtime/llm/httpport"
)

// Failure is the error of one attempt that returned no complete reply.
type Failure struct {
	Class      Class
	Message    string
	HTTPStatus int           // HTTP status; 0 without a response
	RetryAfter time.Duration // delay that the provider requested; 0 for none
	Body       string        // body of the response, later shortened to an excerpt
	RequestID  string        // provider's ID of the request, or ""
	Sent       bool          // the request may have reached the provider
	Got        int64         // number of bytes of the response that arrived
	Category   string        // provider's category of a refusal, or ""
	Partial    bool          // a part of the reply was passed on, so there must be no retry
	Retry      *bool         // whether the provider recommends a retry; nil if the class decides
	deadline   bool          // the attempt failed only because its context ended
	repaired   bool          // the request is sent again in another form, which the provider may accept
}

func (f *Failure) Error() string { return f.Message }

// retryable reports whether another attempt is safe and may succeed.
func (f *Failure) retryable() bool {
	if f.Retry != nil {
		return *f.Retry && !f.Partial
	}
	return classes[f.Class].retry && !f.Partial
}

// agentError converts the failure of an attempt to an error for the program.
func (l *route) agentError(req *Request, err error) error {
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
	if f.Category != "" {
		e.With("category", f.Category)
	}
	return e
}

// configError returns the error for a connection with an invalid configuration.
func configError(connection, format string, args ...any) *effect.Error {
	return effect.Errorf("AgentError", format, args...).
		With("provider", connection).With("retryable", false).With("reason", string(ClassConfig))
}

// refusal contains the information in an error response.
type refusal struct {
	text       string        // the provider's error text, or ""
	class      Class         // class in the response; "" if the status determines the class
	retryAfter time.Duration // delay that the provider requested; 0 for none
}

// statusFailure returns the failure for a response with an error status.
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

// hint returns the next step for the user after a failure, or "".
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

// excerpt returns the beginning of a response, with all white space on one line.
func excerpt(body []byte, limit int) string {
	body = body[:utf8cut.Before(body, 4*limit)] // the response may be megabytes long
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "�")), " ")
	return utf8cut.Short(s, limit)
}
