// Package manage implements the commands that change and read what a server stores: users, tokens,
// pairings, decisions and the audit log. They use the database of the server or its API.
package manage

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/accounts"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// manager manages users, tokens and pairings, and reads decisions. It uses a server's database or
// a server.
type manager interface {
	makeToken(ctx context.Context, user string, n auth.NewToken) (newToken, error)
	tokens(ctx context.Context) ([]accounts.TokenInfo, error)
	revoke(ctx context.Context, id string) error
	putUser(ctx context.Context, name, password string, role auth.Role) error
	users(ctx context.Context) ([]accounts.UserInfo, error)
	removeUser(ctx context.Context, name string) error
	lookPairing(ctx context.Context, code string) (name, fingerprint string, err error)
	confirmPairing(ctx context.Context, code string) (machine string, err error)
	decisions(ctx context.Context, query url.Values) (*server.HistoryPage, error)
	close()
}

// newToken is a created token. Link is the URL that opens the runs of a restricted token; it is ""
// for other tokens, and if the URL of the server is unknown.
type newToken struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	Link  string `json:"link,omitempty"`
}

// managerFlags holds the flags that select the database or the server.
type managerFlags struct{ db, server, tokenFile string }

const whereHelp = `

The command uses the server's database directly (--db), also while the server runs. With --server
URL --token-file FILE it calls the server as an owner.`

func addManagerFlags(a *console.Console, c *cobra.Command, w *managerFlags) {
	f := c.PersistentFlags()
	DatabaseFlag(a, f, &w.db)
	f.StringVar(&w.server, "server", "", "call the server at `URL` instead of its database")
	f.StringVar(&w.tokenFile, "token-file", "", "read an access token from `FILE`")
}

// manager opens the database or the server that the flags select. If make is set, it creates a
// missing database.
func openManager(ctx context.Context, a *console.Console, w *managerFlags, make bool) (manager, error) {
	if w.server != "" || w.tokenFile != "" {
		e, err := connect.ServerEnd(a, w.server, w.tokenFile)
		return &remoteManager{e}, err
	}
	s, err := Database(ctx, a, w.db, make)
	if err != nil {
		return nil, err
	}
	return &localManager{s, auth.New(auth.Config{Store: s, Guard: httpguard.New(httpguard.Config{}), TOFU: auth.TOFUOff})}, nil
}

// localManager manages users and tokens directly in a database.
type localManager struct {
	store *store.Store
	auth  *auth.Auth
}

// CommandLine is the actor that the audit log names for changes by localManager.
var CommandLine = audit.Actor{Type: "server", Name: "concerto-relay"}

func (l *localManager) close() { l.auth.Close(); _ = l.store.Close() } // all changes are committed already

// makeToken creates a token for a user. If user is "", the token is for the first owner.
func (l *localManager) makeToken(ctx context.Context, user string, n auth.NewToken) (made newToken, err error) {
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
			return made, console.Usage("create one with `concerto-relay user add NAME --role owner`", "a token requires a user, and the database has none")
		}
	}
	made.ID, made.Token, err = l.auth.NewToken(ctx, CommandLine, user, n)
	return made, err
}

func (l *localManager) tokens(ctx context.Context) ([]accounts.TokenInfo, error) {
	all, err := l.store.Tokens(ctx, time.Now().UnixMilli())
	return accounts.TokenInfos(all), err
}

func (l *localManager) revoke(ctx context.Context, id string) error {
	return l.auth.Revoke(ctx, CommandLine, id)
}

func (l *localManager) putUser(ctx context.Context, name, password string, role auth.Role) error {
	if err := auth.CheckUser(name, role); err != nil {
		return err
	}
	_, err := l.auth.PutUser(ctx, CommandLine, name, role, auth.HashPassword(password))
	return err
}

func (l *localManager) users(ctx context.Context) ([]accounts.UserInfo, error) {
	all, err := l.store.Users(ctx)
	return accounts.UserInfos(all), err
}

func (l *localManager) removeUser(ctx context.Context, name string) error {
	return l.auth.RemoveUser(ctx, CommandLine, name)
}

// remoteManager manages users and tokens through a server.
type remoteManager struct{ *connect.Endpoint }

func (*remoteManager) close() {}

func (s *remoteManager) makeToken(ctx context.Context, user string, n auth.NewToken) (made newToken, err error) {
	if user != "" {
		return made, console.Usage("omit --user, or name the database with --db", "a token created through a server belongs to the user of the request")
	}
	return made, s.Call(ctx, "POST", "/tokens", n, &made)
}

func (s *remoteManager) tokens(ctx context.Context) (out []accounts.TokenInfo, err error) {
	return out, s.Call(ctx, "GET", "/tokens", nil, &out)
}

func (s *remoteManager) revoke(ctx context.Context, id string) error {
	return s.Call(ctx, "DELETE", "/tokens/"+url.PathEscape(id), nil, nil)
}

func (s *remoteManager) putUser(ctx context.Context, name, password string, role auth.Role) error {
	return s.Call(ctx, "POST", "/users", map[string]string{"name": name, "password": password, "role": string(role)}, nil)
}

func (s *remoteManager) users(ctx context.Context) (out []accounts.UserInfo, err error) {
	return out, s.Call(ctx, "GET", "/users", nil, &out)
}

func (s *remoteManager) removeUser(ctx context.Context, name string) error {
	return s.Call(ctx, "DELETE", "/users/"+url.PathEscape(name), nil, nil)
}
