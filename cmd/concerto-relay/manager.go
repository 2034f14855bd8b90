package main

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// manager is where users and tokens are managed: in a server's database, or by a server.
type manager interface {
	makeToken(ctx context.Context, user string, n auth.NewToken) (madeToken, error)
	tokens(ctx context.Context) ([]accounts.TokenInfo, error)
	revoke(ctx context.Context, id string) error
	putUser(ctx context.Context, name, password string, role auth.Role) error
	users(ctx context.Context) ([]accounts.UserInfo, error)
	removeUser(ctx context.Context, name string) error
	lookPairing(ctx context.Context, code string) (name, fingerprint string, err error)
	confirmPairing(ctx context.Context, code string) (host string, err error)
	close()
}

// madeToken is a token that was made; the link is for one of some runs, where it is known.
type madeToken struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	Link  string `json:"link,omitempty"`
}

// where is the place where users are managed.
type where struct{ db, server, tokenFile string }

const whereHelp = `

The command uses the server's database directly (--db), also while the server runs. With --server
URL --token-file FILE it calls the server as an owner.`

func (a *app) whereFlags(c *cobra.Command, w *where) {
	f := c.PersistentFlags()
	a.databaseFlag(f, &w.db)
	f.StringVar(&w.server, "server", "", "call the server at `URL` instead of its database")
	f.StringVar(&w.tokenFile, "token-file", "", "read an owner's access token from `FILE`")
}

// manager opens the place of the flags. make means that a missing database is created.
func (a *app) manager(ctx context.Context, w *where, make bool) (manager, error) {
	if w.server != "" || w.tokenFile != "" {
		e, err := a.serverEnd(w.server, w.tokenFile)
		return &remote{e}, err
	}
	s, err := a.database(ctx, w.db, make)
	if err != nil {
		return nil, err
	}
	return &local{s, auth.New(auth.Config{Store: s, Guard: httpguard.New(httpguard.Config{}), TOFU: auth.TOFUOff})}, nil
}

// local works on a database.
type local struct {
	store *store.Store
	auth  *auth.Auth
}

// commandLine is who does it, in the audit log.
var commandLine = audit.Actor{Type: "server", Name: "concerto-relay"}

func (l *local) close() { l.auth.Close(); _ = l.store.Close() } // all is committed

// makeToken creates a token for a user: without a name to the first owner.
func (l *local) makeToken(ctx context.Context, user string, n auth.NewToken) (made madeToken, err error) {
	if user == "" {
		all, err := l.users(ctx)
		if err != nil {
			return made, err
		}
		for _, u := range all {
			if u.Role == string(auth.Owner) && user == "" {
				user = u.Name
			}
		}
		if user == "" {
			return made, usage("`concerto-relay user add NAME --role owner` makes one", "a token is a user's, and the database has none")
		}
	}
	made.ID, made.Token, err = l.auth.NewToken(ctx, commandLine, user, n)
	return made, err
}

func (l *local) tokens(ctx context.Context) ([]accounts.TokenInfo, error) {
	all, err := l.store.Tokens(ctx, time.Now().UnixMilli())
	return accounts.TokenInfos(all), err
}

func (l *local) revoke(ctx context.Context, id string) error {
	return l.auth.Revoke(ctx, commandLine, id)
}

func (l *local) putUser(ctx context.Context, name, password string, role auth.Role) error {
	if err := auth.CheckUser(name, role); err != nil {
		return err
	}
	_, err := l.auth.PutUser(ctx, commandLine, name, role, auth.HashPassword(password))
	return err
}

func (l *local) users(ctx context.Context) ([]accounts.UserInfo, error) {
	all, err := l.store.Users(ctx)
	return accounts.UserInfos(all), err
}

func (l *local) removeUser(ctx context.Context, name string) error {
	return l.auth.RemoveUser(ctx, commandLine, name)
}

// remote asks a server.
type remote struct{ *end }

func (*remote) close() {}

func (s *remote) makeToken(ctx context.Context, user string, n auth.NewToken) (made madeToken, err error) {
	if user != "" {
		return made, usage("leave --user out, or name the database with --db", "over a server a token is that of the user who asks")
	}
	return made, s.call(ctx, "POST", "/tokens", n, &made)
}

func (s *remote) tokens(ctx context.Context) (out []accounts.TokenInfo, err error) {
	return out, s.call(ctx, "GET", "/tokens", nil, &out)
}

func (s *remote) revoke(ctx context.Context, id string) error {
	return s.call(ctx, "DELETE", "/tokens/"+url.PathEscape(id), nil, nil)
}

func (s *remote) putUser(ctx context.Context, name, password string, role auth.Role) error {
	return s.call(ctx, "POST", "/users", map[string]string{"name": name, "password": password, "role": string(role)}, nil)
}

func (s *remote) users(ctx context.Context) (out []accounts.UserInfo, err error) {
	return out, s.call(ctx, "GET", "/users", nil, &out)
}

func (s *remote) removeUser(ctx context.Context, name string) error {
	return s.call(ctx, "DELETE", "/users/"+url.PathEscape(name), nil, nil)
}
