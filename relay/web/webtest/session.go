package webtest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// Password is the password of all users. Hash is its hash, with the cheapest parameters of
// argon2id, because no test checks the strength of the hash.
const (
	Password = "correct horse"
	Hash     = "$argon2id$v=19$m=8,t=1,p=1$YSB0ZXN0J3Mgc2FsdC4u$GtYNaRFElJ1X65ATgk+HPdYHeqWXDHk+EVL3kbXImbg"
)

// Session logs a user in and returns the session cookie.
func (r *Relay) Session(user string) *http.Cookie {
	r.T.Helper()
	body, err := json.Marshal(map[string]string{"username": user, "password": Password})
	if err != nil {
		r.T.Fatal(err)
	}
	q, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.URL+"/auth/login", bytes.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	q.Header.Set("Origin", r.URL)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		r.T.Fatal(err)
	}
	defer a.Body.Close()
	all := a.Cookies()
	if a.StatusCode != http.StatusOK || len(all) != 1 {
		r.T.Fatalf("login of %s: response %s with %d cookies", user, a.Status, len(all))
	}
	return all[0]
}
