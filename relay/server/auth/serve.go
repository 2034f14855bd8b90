package auth

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// maxBody limits the body of an accounts request, in bytes.
const maxBody = 64 << 10

// Serve returns the handler of a route, which checks the caller's right.
func (a *Auth) Serve(row Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if row.Right == Open {
			row.Handle(w, r, nil)
			return
		}
		id, err := a.Authenticate(r)
		if err != nil {
			a.Fail(w, err)
			return
		}
		if err := id.Need(row.Right); err != nil {
			a.Refused(r.Context(), id, row.Right, "")
			a.Fail(w, err)
			return
		}
		row.Handle(w, r, id)
	})
}

// Fail sends an error response. It logs an internal error, and the response does not contain it.
func (a *Auth) Fail(w http.ResponseWriter, err error) {
	var refusal *httpguard.Refusal
	if !errors.As(err, &refusal) {
		a.c.Log.Error("a request failed", "error", err)
	}
	httpguard.Fail(w, err)
}

// Body decodes the body of a request, a JSON object, into a struct. It ignores unknown members.
func Body(w http.ResponseWriter, r *http.Request, into any) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var big *http.MaxBytesError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &big):
		return httpguard.Refused(protocol.TooLarge, "the body exceeds %d bytes", int64(maxBody))
	case err != nil:
		return httpguard.Refused(protocol.BadMessage, "the body is incomplete")
	}
	err = json.Unmarshal(text, into)
	switch {
	case errors.As(err, &typ) && typ.Field != "":
		return httpguard.Refused(protocol.BadMessage, "%s must not be a %s", typ.Field, typ.Value)
	case err != nil:
		return httpguard.Refused(protocol.BadMessage, "the body must be a JSON object")
	}
	return nil
}
