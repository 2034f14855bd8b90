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

// Kind is by what somebody is known.
type Kind string

// The kinds.
const (
	Session Kind = store.SessionToken
	Token   Kind = store.AccessToken
)

// Identity is who asks. It is not changed: when what its owner may do changes, it has ended
// (Auth.Watch).
type Identity struct {
	Name    string // the user's
	Kind    Kind
	ID      string // of the token or session
	Role    Role   // the lower of the user's and the token's
	Runs    []string
	Expires time.Time // as it was when it was asked for; a use may have put it off
	Label   string    // the token's name; "" of a session
}

// Narrow says whether it is for some runs only.
func (id *Identity) Narrow() bool { return len(id.Runs) > 0 }

// Sees says whether it may know of a run; else there is none for it.
func (id *Identity) Sees(run string) bool {
	return !id.Narrow() || slices.ContainsFunc(id.Runs, func(glob string) bool {
		ok, err := path.Match(glob, run)
		return err == nil && ok
	})
}

// May says whether it has a right, to a run that it sees where the right is about runs.
func (id *Identity) May(r Right) bool {
	row := r.Info()
	if id == nil {
		return row.Role == ""
	}
	return slices.Index(Roles, id.Role) >= slices.Index(Roles, row.Role) && !(row.Whole && id.Narrow())
}

// Need is the refusal of who does not have a right; nil for who has it.
func (id *Identity) Need(r Right) error {
	switch row := r.Info(); {
	case id.May(r):
		return nil
	case id == nil:
		return httpguard.Refused(protocol.Unauthorized, "this needs credentials: an access token as Bearer, or a login")
	case row.Whole && id.Narrow():
		return httpguard.Refused(protocol.Forbidden, "a token for some runs may not do this (%s)", row.Doc)
	default:
		return httpguard.Refused(protocol.Forbidden, "this needs the role %s, and %s has %s (%s)", row.Role, id.Name, id.Role, row.Doc)
	}
}

// Actor is it in the audit log: a token by its id, for names of tokens are not theirs alone.
func (id *Identity) Actor() audit.Actor {
	if id.Kind == Token {
		return audit.Actor{Type: "token", Name: id.Name + "/" + id.ID}
	}
	return audit.Actor{Type: "user", Name: id.Name}
}

// Record is a record of what it does. subject and data are objects whose values are integers, texts
// and truth values.
func (id *Identity) Record(kind, run string, subject, data map[string]any) audit.Record {
	return audit.Record{Kind: kind, Run: run, Actor: id.Actor(), Subject: object(subject), Data: object(data)}
}

// object is an object of a record.
func object(m map[string]any) json.RawMessage {
	if m == nil {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // a record of ours that is no JSON
	}
	return text
}

// identity is who a token stands for.
func identity(t *store.Token) *Identity {
	return &Identity{Name: t.User, Kind: Kind(t.Kind), ID: t.ID, Role: least(Role(t.Role), Role(t.UserRole)), Runs: t.Runs, Expires: time.UnixMilli(t.Expires), Label: t.Name}
}

// same says whether two may do the same.
func same(a, b *Identity) bool {
	return a.Name == b.Name && a.Role == b.Role && slices.Equal(a.Runs, b.Runs)
}
