package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/audit"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/guard"
	"github.com/concerto-lang/concerto/relay/store"
)

// manager is where users and tokens are managed: in a server's database, or by a server.
type manager interface {
	makeToken(ctx context.Context, user string, n auth.NewToken) (id, secret string, err error)
	tokens(ctx context.Context) ([]tokenSeen, error)
	revoke(ctx context.Context, id string) error
	putUser(ctx context.Context, name, password string, role auth.Role) error
	users(ctx context.Context) ([]userSeen, error)
	removeUser(ctx context.Context, name string) error
	lookPairing(ctx context.Context, code string) (name, fingerprint string, err error)
	confirmPairing(ctx context.Context, code string) (host string, err error)
	close()
}

// tokenSeen is a token, and userSeen a user, as a server tells of them.
type tokenSeen struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	User      string   `json:"user"`
	Role      string   `json:"role"`
	Runs      []string `json:"runs"`
	CreatedAt string   `json:"created_at"`
	ExpiresAt string   `json:"expires_at"`
}

type userSeen struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// where says where people are managed.
type where struct{ db, server, tokenFile string }

const whereHelp = `

It works on the server's database (--db), also while the server runs, or, as an owner,
over the server itself (--server URL --token-file FILE).`

func (a *app) whereFlags(c *cobra.Command, w *where) {
	f := c.PersistentFlags()
	a.databaseFlag(f, &w.db)
	f.StringVar(&w.server, "server", "", "ask the server at this `URL`, instead of its database")
	f.StringVar(&w.tokenFile, "token-file", "", "the `FILE` with an owner's access token, for --server")
}

// manager opens what the flags say. make says that a database is made when there is none.
func (a *app) manager(ctx context.Context, w *where, make bool) (manager, error) {
	if w.server == "" {
		if w.tokenFile != "" {
			return nil, a.wrong("token-file", "add --server URL", "it is for a server, and none is named")
		}
		s, err := a.database(ctx, w.db, make)
		if err != nil {
			return nil, err
		}
		return &local{s, auth.New(auth.Config{Store: s, Guard: guard.New(guard.Config{}), TOFU: auth.TOFUOff})}, nil
	}
	u, err := url.Parse(w.server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, a.wrong("server", "http://127.0.0.1:8787, for one", "it is no URL of a server")
	}
	if w.tokenFile == "" {
		return nil, a.wrong("server", "add --token-file FILE, with an owner's access token in it", "a server wants credentials")
	}
	token, err := os.ReadFile(a.abs(w.tokenFile))
	if err != nil {
		return nil, a.wrong("token-file", "", "%v", err)
	}
	return &remote{strings.TrimSuffix(w.server, "/"), strings.TrimSpace(string(token))}, nil
}

// local works on a database.
type local struct {
	store *store.Store
	auth  *auth.Auth
}

// commandLine is who does it, in the audit log.
var commandLine = audit.Actor{Type: "server", Name: "concerto-relay"}

func (l *local) close() { l.auth.Close(); _ = l.store.Close() } // all is committed

// makeToken gives a token to a user: without a name to the first owner.
func (l *local) makeToken(ctx context.Context, user string, n auth.NewToken) (id, secret string, err error) {
	if user == "" {
		all, err := l.users(ctx)
		if err != nil {
			return "", "", err
		}
		for _, u := range all {
			if u.Role == string(auth.Owner) && user == "" {
				user = u.Name
			}
		}
		if user == "" {
			return "", "", usage("`concerto-relay user add NAME --role owner` makes one", "a token is a user's, and the database has none")
		}
	}
	return l.auth.NewToken(ctx, commandLine, user, n)
}

func (l *local) tokens(ctx context.Context) (out []tokenSeen, err error) {
	all, err := l.store.Tokens(ctx, time.Now().UnixMilli())
	stamp := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	for _, t := range all {
		out = append(out, tokenSeen{t.ID, t.Name, t.Kind, t.User, t.Role, t.Runs, stamp(t.Created), stamp(t.Expires)})
	}
	return out, err
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

func (l *local) users(ctx context.Context) (out []userSeen, err error) {
	all, err := l.store.Users(ctx)
	for _, u := range all {
		out = append(out, userSeen{u.Name, u.Role})
	}
	return out, err
}

func (l *local) removeUser(ctx context.Context, name string) error {
	return l.auth.RemoveUser(ctx, commandLine, name)
}

// remote asks a server.
type remote struct{ server, token string }

func (*remote) close() {}

// call asks, and reads the answer into a value; nil when there is none.
func (s *remote) call(ctx context.Context, method, path string, body, into any) error {
	var in io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.server+path, in)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	if answer.StatusCode >= 300 {
		var said struct {
			Error struct{ Code, Message string }
		}
		if json.Unmarshal(text, &said) != nil || said.Error.Code == "" {
			return fmt.Errorf("%s %s: the server says %s", method, path, answer.Status)
		}
		return fmt.Errorf("%s: %s", said.Error.Code, said.Error.Message)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return nil
}

func (s *remote) makeToken(ctx context.Context, user string, n auth.NewToken) (id, secret string, err error) {
	if user != "" {
		return "", "", usage("leave --user out, or name the database with --db", "over a server a token is that of the user who asks")
	}
	var out struct{ ID, Token string }
	err = s.call(ctx, "POST", "/tokens", n, &out)
	return out.ID, out.Token, err
}

func (s *remote) tokens(ctx context.Context) (out []tokenSeen, err error) {
	return out, s.call(ctx, "GET", "/tokens", nil, &out)
}

func (s *remote) revoke(ctx context.Context, id string) error {
	return s.call(ctx, "DELETE", "/tokens/"+url.PathEscape(id), nil, nil)
}

func (s *remote) putUser(ctx context.Context, name, password string, role auth.Role) error {
	return s.call(ctx, "POST", "/users", map[string]string{"name": name, "password": password, "role": string(role)}, nil)
}

func (s *remote) users(ctx context.Context) (out []userSeen, err error) {
	return out, s.call(ctx, "GET", "/users", nil, &out)
}

func (s *remote) removeUser(ctx context.Context, name string) error {
	return s.call(ctx, "DELETE", "/users/"+url.PathEscape(name), nil, nil)
}
