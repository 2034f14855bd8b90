package accounts

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

func (p *API) makeToken(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	var in auth.NewToken
	err := auth.Body(w, r, &in)
	if err == nil {
		var made, secret string
		if made, secret, err = p.c.Auth.NewToken(r.Context(), id.Actor(), id.Name, in); err == nil {
			out := map[string]string{"id": made, "token": secret}
			if len(in.Runs) > 0 {
				base := p.c.Guard.Base(r)
				out["link"], out["page"] = auth.Link(base, secret, in.Runs), base+"/"
			}
			httpguard.Answer(w, http.StatusOK, out)
			return
		}
	}
	p.c.Auth.Fail(w, err)
}

// TokenInfo describes a token to owners. Its times are in RFC 3339.
type TokenInfo struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	User      string   `json:"user"`
	Role      string   `json:"role"`
	Runs      []string `json:"runs"`
	CreatedAt string   `json:"created_at"`
	ExpiresAt string   `json:"expires_at"`
}

// TokenInfos converts stored tokens.
func TokenInfos(all []*store.Token) []TokenInfo {
	out := []TokenInfo{}
	for _, t := range all {
		out = append(out, TokenInfo{t.ID, t.Name, t.Kind, t.User, t.Role, orEmpty(t.Runs), stamp(t.Created), stamp(t.Expires)})
	}
	return out
}

// UserInfo describes a user to owners.
type UserInfo struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

// UserInfos converts stored users.
func UserInfos(all []*store.User) []UserInfo {
	out := []UserInfo{}
	for _, u := range all {
		out = append(out, UserInfo{u.Name, u.Role})
	}
	return out
}

func (p *API) tokens(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	all, err := p.c.Store.Tokens(r.Context(), p.now())
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	httpguard.Answer(w, http.StatusOK, TokenInfos(all))
}

func (p *API) revoke(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	if err := p.c.Auth.Revoke(r.Context(), id.Actor(), r.PathValue("id")); err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	noContent(w)
}

// newUser is the body of a request that creates or changes a user.
type newUser struct {
	Name     string    `json:"name"`
	Password string    `json:"password"`
	Role     auth.Role `json:"role"`
}

func (p *API) putUser(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	var in newUser
	err := auth.Body(w, r, &in)
	if err == nil {
		err = auth.CheckUser(in.Name, in.Role)
	}
	if err == nil {
		if bad := auth.CheckPassword(in.Password); bad != nil {
			err = httpguard.Refused(protocol.BadMessage, "password: %v", bad)
		}
	}
	if err == nil {
		var hash string
		if hash, err = p.c.Auth.Hash(r.Context(), in.Password); err == nil {
			_, err = p.c.Auth.PutUser(r.Context(), id.Actor(), in.Name, in.Role, hash)
		}
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	httpguard.Answer(w, http.StatusOK, map[string]any{"name": in.Name, "role": in.Role})
}

func (p *API) users(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	all, err := p.c.Store.Users(r.Context())
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	httpguard.Answer(w, http.StatusOK, UserInfos(all))
}

func (p *API) removeUser(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	if err := p.c.Auth.RemoveUser(r.Context(), id.Actor(), r.PathValue("name")); err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	noContent(w)
}

func (p *API) removeMachine(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	machine := r.PathValue("id")
	rec := id.Record("host_removed", "", map[string]any{"host": machine}, nil)
	err := p.c.Store.RemoveMachine(r.Context(), machine, p.now(), rec)
	if errors.Is(err, store.ErrUnknown) {
		err = httpguard.Refused(protocol.UnknownMachine, "there is no machine %q", machine)
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	if p.c.MachineRemoved != nil {
		p.c.MachineRemoved(machine)
	}
	noContent(w)
}

func (p *API) nameMachine(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	var in struct {
		Name string `json:"name"`
	}
	machine := r.PathValue("id")
	err := auth.Body(w, r, &in)
	switch {
	case err != nil:
	case !auth.IsHostName(in.Name):
		err = httpguard.Refused(protocol.BadMessage, "name must have 1 to 64 bytes without control characters")
	default:
		rec := id.Record("host_renamed", "", map[string]any{"host": machine}, map[string]any{"name": in.Name})
		err = p.c.Store.NameMachine(r.Context(), machine, in.Name, false, p.now(), rec)
	}
	if errors.Is(err, store.ErrUnknown) {
		err = httpguard.Refused(protocol.UnknownMachine, "there is no machine %q", machine)
	}
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	noContent(w)
}

// auditPage is the number of records read at a time.
const auditPage = 500

// audit sends the records of the audit log after the position in the parameter after, unchanged and
// one per line.
func (p *API) audit(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	after, err1 := number(r, "after", 0)
	limit, err2 := number(r, "limit", 1<<62)
	if err := errors.Join(err1, err2); err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	out := bufio.NewWriter(w)
	for first := true; limit > 0; first = false {
		lines, err := p.c.Store.AuditLines(r.Context(), after, int(min(limit, auditPage)))
		switch {
		case err != nil && first:
			p.c.Auth.Fail(w, err)
			return
		case err != nil:
			p.c.Log.Error("could not read the audit log", "error", err)
			panic(http.ErrAbortHandler) // aborts the response, so that the client does not take it for complete
		case first:
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		for _, line := range lines {
			_, _ = out.WriteString(line + "\n") // ignore the error: Flush returns it
		}
		if len(lines) < int(min(limit, auditPage)) {
			break
		}
		after, limit = after+int64(len(lines)), limit-int64(len(lines))
	}
	_ = out.Flush() // an error means that the client has disconnected
}

// number returns a parameter that must be 0 or more. If it is missing, number returns usual.
func number(r *http.Request, name string, usual int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, httpguard.Refused(protocol.BadMessage, "%s: a number, 0 or more, not %q", name, fmt.Sprintf("%.40s", text))
	}
	return n, nil
}
