package mcp

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/concerto-lang/concerto/internal/procgroup"
)

// httpClient adds the manifest's headers to each request.
func (s *server) httpClient() (*http.Client, error) {
	u, err := url.Parse(s.config.URL)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	for name, v := range s.config.Headers {
		headers.Set(name, v)
	}
	for name, variable := range s.config.HeadersEnv {
		v, ok := procgroup.LookupEnv(s.options.Environ, variable)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s, which holds the header %s, is not set", variable, name)
		}
		headers.Set(name, v)
	}
	return &http.Client{Transport: exchange{headers, u.Host}}, nil
}

// exchange makes the HTTP requests of one server.
type exchange struct {
	headers http.Header
	host    string
}

// refused is a status that says what to do about it.
type refused struct {
	status int
}

func (e *refused) Error() string {
	return fmt.Sprintf("it refuses with status %d %s: check the credentials in `headers_env`", e.status, http.StatusText(e.status))
}

func (x exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == x.host { // what is secret does not follow a redirection elsewhere
		r = r.Clone(r.Context())
		for name, v := range x.headers {
			r.Header[name] = v
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		_ = resp.Body.Close()
		return nil, &refused{resp.StatusCode}
	case http.StatusNotFound:
		if c, ok := r.Context().Value(callKey{}).(*call); ok && r.Method == http.MethodPost {
			c.unseen.Store(true)
		}
	}
	return resp, nil
}
