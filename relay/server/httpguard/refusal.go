package httpguard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Refusal explains why a request was refused.
type Refusal struct {
	Code   protocol.Code
	Why    string
	Status int           // the HTTP status; 0 means the usual status of Code
	After  time.Duration // how long to wait before a retry; 0 if a retry cannot succeed
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Why) }

// Refused returns a Refusal with a formatted reason.
func Refused(code protocol.Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Why: fmt.Sprintf(format, args...)}
}

// Fail sends an error response. For a *Refusal the response contains its status and reason. For any
// other error it is an internal error without details.
func Fail(w http.ResponseWriter, err error) {
	r := *Refused(protocol.Internal, "the request failed; the relay's log has the cause")
	var refusal *Refusal
	if errors.As(err, &refusal) {
		r = *refusal
	}
	if r.After > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((r.After+time.Second-1)/time.Second), 10))
	}
	if r.Code == protocol.Unauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="concerto-relay"`)
	}
	var body struct {
		Error struct {
			Code    protocol.Code `json:"code"`
			Message string        `json:"message"`
		} `json:"error"`
	}
	body.Error.Code, body.Error.Message = r.Code, r.Why
	if r.Status == 0 {
		r.Status = protocol.HTTPStatus(r.Code)
	}
	Answer(w, r.Status, body)
}

// Answer sends a value as JSON.
func Answer(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen: all values can be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // an error means that the client has disconnected
}
