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

// Refusal is why a request is not done.
type Refusal struct {
	Code   protocol.Code
	Why    string
	Status int           // over HTTP; 0: the code's
	After  time.Duration // when to try again; 0 when that would not help
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Why) }

// Refused is a refusal that says why.
func Refused(code protocol.Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Why: fmt.Sprintf(format, args...)}
}

// Fail answers a request that failed: a *Refusal by its code's status, anything else as the
// relay's own failure, of which nothing is told but that it is one.
func Fail(w http.ResponseWriter, err error) {
	r := *Refused(protocol.Internal, "the relay cannot do it now; its log says why")
	var told *Refusal
	if errors.As(err, &told) {
		r = *told
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

// Answer answers with a JSON value.
func Answer(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a value of ours that is no JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // who has gone does not read it
}
