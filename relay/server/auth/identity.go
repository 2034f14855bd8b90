package auth

import (
	"encoding/json"
	"path"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// Kind is the kind of a credential.
type Kind string

// The kinds of credentials.
const (
	Session Kind = store.SessionToken
	Token   Kind = store.AccessToken
)

// Identity is an authenticated caller. It is immutable. When the permissions of its user change,
// the identity becomes invalid, and Auth.Watch reports that.
type Identity struct {
	Name    string // the user's name
	Kind    Kind
	ID      string // the id of the token or session
	Role    Role   // the lower of the user's role and the token's role
	Runs    []string
	Expires time.Time // the expiry at the time of the request; using the credential may extend it
	Label   string    // the token's name; "" for a session
}

// IsRestricted reports whether the identity may only access some runs.
func (id *Identity) IsRestricted() bool { return len(id.Runs) > 0 }

// Sees reports whether the identity may see a run. For a run that the identity may not see,
// handlers respond as if the run did not exist.
func (id *Identity) Sees(run string) bool {
	return !id.IsRestricted() || slices.ContainsFunc(id.Runs, func(glob string) bool {
		ok, err := path.Match(glob, run)
		return err == nil && ok
	})
}

// May reports whether the identity has a right. A right on runs applies only to runs that the
// identity may see.
func (id *Identity) May(r Right) bool {
	row := r.Info()
	if id == nil {
		return row.Role == ""
	}
	return slices.Index(Roles, id.Role) >= slices.Index(Roles, row.Role) && !(row.Whole && id.IsRestricted())
}

// Need returns nil if the identity has a right, and otherwise a refusal.
func (id *Identity) Need(r Right) error {
	switch row := r.Info(); {
	case id.May(r):
		return nil
	case id == nil:
		return httpguard.Refused(protocol.Unauthorized, "missing credentials: send an access token as Bearer, or log in")
	case row.Whole && id.IsRestricted():
		return httpguard.Refused(protocol.Forbidden, "a token that is restricted to some runs does not have this right (%s)", row.Doc)
	default:
		return httpguard.Refused(protocol.Forbidden, "this requires the role %s, and %s has %s (%s)", row.Role, id.Name, id.Role, row.Doc)
	}
}

// Actor returns the actor for the audit log. It identifies a token by its id, because token names
// are not unique.
func (id *Identity) Actor() audit.Actor {
	if id.Kind == Token {
		return audit.Actor{Type: "token", Name: id.Name + "/" + id.ID}
	}
	return audit.Actor{Type: "user", Name: id.Name}
}

// Record returns an audit record. Values in subject and data are integers, strings and booleans.
func (id *Identity) Record(kind, run string, subject, data map[string]any) audit.Record {
	return audit.Record{Kind: kind, Run: run, Actor: id.Actor(), Subject: object(subject), Data: object(data)}
}

// object encodes a map as a JSON object for an audit record.
func object(m map[string]any) json.RawMessage {
	if m == nil {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // cannot happen: all values can be encoded
	}
	return text
}

// identityOf returns the identity of a token.
func identityOf(t *store.Token) *Identity {
	return &Identity{Name: t.User, Kind: Kind(t.Kind), ID: t.ID, Role: least(Role(t.Role), Role(t.UserRole)), Runs: t.Runs, Expires: time.UnixMilli(t.Expires), Label: t.Name}
}

// sameRights reports whether two identities have the same permissions.
func sameRights(a, b *Identity) bool {
	return a.Name == b.Name && a.Role == b.Role && slices.Equal(a.Runs, b.Runs)
}
