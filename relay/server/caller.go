package server

import (
	"context"
	"net/http"

	"github.com/concerto-lang/concerto/relay/server/auth"
)

// Auth authenticates callers; relay/server/auth implements it.
type Auth interface {
	Authenticate(r *http.Request) (*auth.Identity, error)
	Machine(ctx context.Context, id, token string, r *http.Request) error
	// MachineByKey starts the authentication of a machine by its key.
	HasToken(ctx context.Context, id, token string) (bool, error)
	MachineByKey(ctx context.Context, id string, r *http.Request) (auth.Proof, error)
	// MachineRequest authenticates an HTTP request of a registered machine. Its id is in
	// ?host_id=.
	MachineRequest(ctx context.Context, r *http.Request) error
	// Watch calls ended once when the credentials end, until stop is called.
	Watch(id *auth.Identity, ended func()) (stop func())
	// Refused records that a caller lacked a right.
	Refused(ctx context.Context, id *auth.Identity, right auth.Right, run string)
}
