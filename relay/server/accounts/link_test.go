package accounts_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestLink opens a link to one run. The browser gets a new session with the rights of the link's
// token. The session ends with the token, and a logout of one session does not end other sessions
// of the same link.
func TestLink(t *testing.T) {
	f := begin(t)
	var made struct{ ID, Token, Link, Page string }
	f.ask("POST", "/tokens", f.owner, `{"name":"guest","role":"viewer","runs":["run_7"],"ttl_s":3600}`).expect(f, 200, &made)
	if made.Page != f.url+"/" || made.Link != made.Page+"#/t/"+made.Token+"/run_7" || made.Token == "" {
		t.Errorf("token = %+v, want a page, and a link to run_7", made)
	}
	var whole map[string]string
	f.ask("POST", "/tokens", f.owner, `{"name":"phone","role":"operator"}`).expect(f, 200, &whole)
	if len(whole) != 2 {
		t.Errorf("token without runs = %v, want no link", whole)
	}
	enter := func() (token string, got answer) {
		var in struct {
			AccessToken string `json:"access_token"`
			ExpiresIn   int64  `json:"expires_in"`
			Role        string
		}
		got = f.ask("POST", "/auth/exchange", "", fmt.Sprintf(`{"token":%q}`, made.Token), "Origin", f.url)
		got.expect(f, 200, &in)
		if in.ExpiresIn < 3590 || in.ExpiresIn > 3600 || in.Role != "viewer" || in.AccessToken == made.Token {
			t.Errorf("exchange = %+v, want a viewer's session for the rest of the hour", in)
		}
		return in.AccessToken, got
	}
	first, got := enter()
	cookies := got.Cookies()
	if len(cookies) != 1 || cookies[0].Value != first || !cookies[0].HttpOnly || cookies[0].MaxAge > 3600 || cookies[0].MaxAge < 3590 {
		t.Errorf("cookies = %v, want one for the session", cookies)
	}
	var me struct {
		User, Role, Kind, Name string
		Runs                   []string
	}
	f.ask("GET", "/auth/me", "", "", "Cookie", cookies[0].Name+"="+first, "Sec-Fetch-Site", "same-origin").expect(f, 200, &me)
	if me.User != "ann" || me.Role != "viewer" || me.Kind != "session" || me.Name != "guest" || fmt.Sprint(me.Runs) != "[run_7]" {
		t.Errorf("identity = %+v, want ann as a viewer of run_7", me)
	}
	f.ask("GET", "/tokens", first, "").refused(f, 403, "forbidden", "restricted to some runs")
	f.ask("POST", "/auth/exchange", "", `{"token":"`+made.Token+`"}`, "Origin", "https://evil.example").refused(f, 403, "forbidden", "evil.example")
	for _, body := range []string{`{"token":"` + first + `"}`, `{"token":"ct_none"}`, `{}`, `{"token":"` + f.url + `"}`} {
		f.ask("POST", "/auth/exchange", "", body).refused(f, 401, "unauthorized", "")
	}
	// A logout ends only one session. The end of the token ends all its sessions.
	second, _ := enter()
	f.ask("POST", "/auth/logout", first, "").expect(f, 204, nil)
	f.ask("GET", "/auth/me", first, "").expect(f, 401, nil)
	f.ask("GET", "/auth/me", second, "").expect(f, 200, nil)
	for range 100 {
		enter()
	}
	f.ask("GET", "/auth/me", second, "").expect(f, 401, nil) // the sessions of a link are limited, so the oldest has ended
	last, _ := enter()
	f.ask("DELETE", "/tokens/"+made.ID, f.owner, "").expect(f, 204, nil)
	f.ask("GET", "/auth/me", last, "").expect(f, 401, nil)
	if got := f.ask("GET", "/audit", f.owner, ""); strings.Contains(got.text, made.Token) || !strings.Contains(got.text, `"kind":"login"`) {
		t.Error(got.text)
	}
}
