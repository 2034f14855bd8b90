package server

import (
	"context"
	"errors"
	"log/slog"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Failure explains why a request was refused.
type Failure = httpguard.Refusal

func refuse(c protocol.Code, format string, args ...any) *Failure {
	return httpguard.Refused(c, format, args...)
}

// storeErrors maps errors of the store to codes of the protocol.
var storeErrors = []struct {
	err  error
	code protocol.Code
}{
	{store.ErrHasExited, protocol.RunHasExited},
	{store.ErrConflict, protocol.InputConflict},
	{store.ErrDecided, protocol.AlreadyDecided},
	{store.ErrChanged, protocol.ArgsChanged},
}

// failed converts an error of the store to a Failure. unknown is the code for store.ErrUnknown.
func (s *Server) failed(err error, unknown protocol.Code) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, store.ErrUnknown) {
		return &Failure{Code: unknown, Why: err.Error()}
	}
	for _, row := range storeErrors {
		if errors.Is(err, row.err) {
			return &Failure{Code: row.code, Why: err.Error()}
		}
	}
	if errors.Is(err, context.Canceled) { // the client has disconnected, or the server is closing
		return refuse(protocol.Internal, "the request was cancelled")
	}
	s.log.Error("the store failed", slog.Any("error", err))
	return refuse(protocol.Internal, "the database failed: try again later")
}
