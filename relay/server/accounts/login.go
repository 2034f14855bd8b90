package accounts

import (
	"net/http"

	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// credentials is the body of a login or setup request. Code is the code in the setup link.
type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Code     string `json:"code"`
}

// session is the response to a login.
type session struct {
	AccessToken string    `json:"access_token"`
	ExpiresIn   int64     `json:"expires_in"`
	Role        auth.Role `json:"role"`
}

func (p *API) login(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	var in credentials
	err := auth.Body(w, r, &in)
	if err == nil {
		var secret string
		var id *auth.Identity
		if secret, id, err = p.c.Auth.Login(r.Context(), in.Username, in.Password, r); err == nil {
			p.welcome(w, r, secret, id)
			return
		}
	}
	p.c.Auth.Fail(w, err)
}

// exchange exchanges the access token of a link for a session.
func (p *API) exchange(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	var in struct {
		Token string `json:"token"`
	}
	err := auth.Body(w, r, &in)
	if err == nil {
		var secret string
		var id *auth.Identity
		if secret, id, err = p.c.Auth.Exchange(r.Context(), in.Token, r); err == nil {
			p.welcome(w, r, secret, id)
			return
		}
	}
	p.c.Auth.Fail(w, err)
}

func (p *API) setup(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	var in credentials
	err := auth.Body(w, r, &in)
	if err == nil {
		var secret string
		var id *auth.Identity
		if secret, id, err = p.c.Auth.FirstOwner(r.Context(), in.Code, in.Username, in.Password, r); err == nil {
			p.welcome(w, r, secret, id)
			return
		}
	}
	p.c.Auth.Fail(w, err)
}

func (p *API) welcome(w http.ResponseWriter, r *http.Request, secret string, id *auth.Identity) {
	left := p.c.Auth.Left(id)
	p.c.Auth.SetCookie(w, r, secret, left)
	httpguard.Answer(w, http.StatusOK, session{secret, left, id.Role})
}

func (p *API) logout(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	if err := p.c.Auth.Logout(r.Context(), id); err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	p.c.Auth.SetCookie(w, r, "", 0)
	noContent(w)
}

// me returns the caller's identity.
func (p *API) me(w http.ResponseWriter, _ *http.Request, id *auth.Identity) {
	httpguard.Answer(w, http.StatusOK, map[string]any{
		"user": id.Name, "role": id.Role, "kind": id.Kind, "id": id.ID, "name": id.Label, "runs": orEmpty(id.Runs), "expires_at": stamp(id.Expires.UnixMilli()),
	})
}

// orEmpty returns all, or an empty slice if all is nil.
func orEmpty(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}

func (p *API) ticket(w http.ResponseWriter, r *http.Request, id *auth.Identity) {
	secret, err := p.c.Auth.Ticket(r.Context(), id)
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	httpguard.Answer(w, http.StatusOK, map[string]any{"ticket": secret, "expires_in": auth.TicketSeconds})
}
