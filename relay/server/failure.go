package server

import (
	"context"
	"errors"
	"log/slog"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Failure is why something was refused.
type Failure = httpguard.Refusal

func refuse(c protocol.Code, format string, args ...any) *Failure {
	return httpguard.Refused(c, format, args...)
}

// stored are the store's errors and what the protocol says of them.
var stored = []struct {
	err  error
	code protocol.Code
}{
	{store.ErrHasExited, protocol.RunHasExited},
	{store.ErrConflict, protocol.InputConflict},
	{store.ErrDecided, protocol.AlreadyDecided},
	{store.ErrChanged, protocol.ArgsChanged},
}

// failed is what an error says over the protocol. unknown is what ErrUnknown means here.
func (s *Server) failed(err error, unknown protocol.Code) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, store.ErrUnknown) {
		return &Failure{Code: unknown, Why: err.Error()}
	}
	for _, row := range stored {
		if errors.Is(err, row.err) {
			return &Failure{Code: row.code, Why: err.Error()}
		}
	}
	if errors.Is(err, context.Canceled) { // who asked is gone, or the server ends
		return refuse(protocol.Internal, "the request was left")
	}
	s.log.Error("the store failed", slog.Any("error", err))
	return refuse(protocol.Internal, "the store cannot do this now")
}
