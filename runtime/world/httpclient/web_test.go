package httpclient

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// server returns a test server whose response depends on the path.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Type", r.Header.Get("Content-Type"))
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.Header()["Date"] = nil
		fmt.Fprintf(w, "%s %s %q %s", r.Method, r.URL.RequestURI(), body, r.Header.Get("X-Mine"))
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) })
	mux.HandleFunc("/binary", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("a\xff")) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 101)) })
	mux.HandleFunc("/fits", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 100)) })
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, strings.Repeat("x", 1<<20))
		z.Close()
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "x")
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/failing", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "é€"); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo", http.StatusFound) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://example.invalid/", http.StatusFound)
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/hosts", http.StatusFound)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func perform(t *testing.T, c *Client, r *effect.HTTP) (*effect.HTTPResponse, string) {
	t.Helper()
	if r.Timeout == 0 {
		r.Timeout = 30_000
	}
	v, err := c.Perform(t.Context(), r)
	if err != nil {
		var e *effect.Error
		if !errors.As(err, &e) || e.Kind != "HttpError" || e.Fields["url"] == nil {
			t.Errorf("error %#v is no HttpError with a URL", err)
		}
		return nil, err.Error()
	}
	return v.(*effect.HTTPResponse), ""
}

func TestRequest(t *testing.T) {
	s := server(t)
	c := New(nil, nil)
	defer c.Close()
	body, empty := "hé", ""
	for _, q := range []struct {
		r    *effect.HTTP
		want string
	}{
		{&effect.HTTP{Method: "GET", URL: s.URL + "/echo?q=1"}, `GET /echo?q=1 "" `},
		{&effect.HTTP{Method: "POST", URL: s.URL + "/echo", Body: &body, Headers: []effect.Header{{Name: "x-mine", Value: "m"}}}, `POST /echo "hé" m`},
		{&effect.HTTP{Method: "DELETE", URL: s.URL + "/echo", Body: &empty}, `DELETE /echo "" `},
		{&effect.HTTP{Method: "GET", URL: s.URL + "/there"}, `GET /echo "" `},
	} {
		r, failure := perform(t, c, q.r)
		if failure != "" || r.Body != q.want || r.Status != 200 {
			t.Errorf("%+v: response %+v, failure %q, want status 200 with %s", q.r, r, failure, q.want)
		}
	}
	r, _ := perform(t, c, &effect.HTTP{Method: "POST", URL: s.URL + "/echo", Body: &body, Headers: []effect.Header{{Name: "Content-Type", Value: "x/y"}}})
	want := []effect.Header{{Name: "content-length", Value: "17"}, {Name: "content-type", Value: "text/plain; charset=utf-8"},
		{Name: "x-two", Value: "a, b"}, {Name: "x-type", Value: "x/y"}}
	if diff := cmp.Diff(want, r.Headers); diff != "" {
		t.Error(diff)
	}
	if r, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/status"}); failure != "" || r.Status != 503 || r.Body != "" {
		t.Errorf("response with status 503 = %+v, failure %q, want a response without failure", r, failure)
	}
}

func TestFailures(t *testing.T) {
	s := server(t)
	host := strings.TrimPrefix(s.URL, "http://")
	c := New(nil, nil)
	c.limit = 100
	defer c.Close()
	if r, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/fits"}); failure != "" || len(r.Body) != 100 {
		t.Error(failure)
	}
	// Only the first part of an error's body is read, up to the end of a character.
	if r, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/failing"}); failure != "" || r.Status != 500 || r.Body != strings.Repeat("é€", 20) {
		t.Errorf("an endless response with status 500 = %+v, failure %q", r, failure)
	}
	c.limit = 99
	if r, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/failing"}); failure != "" || r.Body != strings.Repeat("é€", 19)+"é" {
		t.Errorf("an endless response with status 500 = %+v, failure %q", r, failure)
	}
	c.limit = 100
	for _, q := range []struct{ url, want string }{
		{s.URL + "/binary", "the response is not UTF-8"},
		{s.URL + "/large", "the response is larger than 64 MiB"},
		{s.URL + "/bomb", "the response is larger than 64 MiB"},
		{s.URL + "/endless", "the response is larger than 64 MiB"},
		{s.URL + "/short", "the response is incomplete: unexpected EOF"},
		{s.URL + "/round", "it redirected 10 times"},
		{s.URL + "/file", "only http:// and https:// can be called"},
		{"file:///etc/hosts", "only http:// and https:// can be called"},
		{"/echo", "only http:// and https:// can be called"},
		{"", "only http:// and https:// can be called"},
		{"http://", "the URL has no host"},
		{"http://bad host/", `invalid character " " in host name`},
		{"http://127.0.0.1:1/", "dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		if _, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: q.url}); failure != "GET "+q.url+": "+q.want {
			t.Errorf("URL %s: failure %q, want %q", q.url, failure, q.want)
		}
	}
	if _, failure := perform(t, c, &effect.HTTP{Method: "G T", URL: s.URL + "/echo"}); !strings.HasSuffix(failure, `invalid method "G T"`) {
		t.Error(failure)
	}
	if _, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/echo", Headers: []effect.Header{{Name: "a b", Value: ""}}}); !strings.Contains(failure, "header") {
		t.Error(failure)
	}
	if _, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: "http://user:secret@" + host + "/binary"}); strings.Contains(failure, "secret") {
		t.Error(failure)
	}
	if _, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/slow", Timeout: 20}); failure != "GET "+s.URL+"/slow: no response within 20 ms" {
		t.Error(failure)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := c.Perform(ctx, &effect.HTTP{Method: "GET", URL: s.URL + "/slow", Timeout: 30_000}); err != stop {
		t.Error(err)
	}
}

// TestRefusedRedirection checks that a redirect is refused if the program may not call its target.
func TestRefusedRedirection(t *testing.T) {
	s := server(t)
	c := New(func(address string) string {
		if strings.Contains(address, "example.invalid") {
			return "calling " + address + " is not permitted"
		}
		return ""
	}, nil)
	defer c.Close()
	if _, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/there"}); failure != "" {
		t.Error(failure)
	}
	if _, failure := perform(t, c, &effect.HTTP{Method: "GET", URL: s.URL + "/away"}); failure != "GET "+s.URL+"/away: calling http://example.invalid/ is not permitted" {
		t.Error(failure)
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	if _, err := New(nil, nil).Perform(t.Context(), &effect.Env{}); err == nil || err.Error() != "the HTTP client cannot perform env" {
		t.Error(err)
	}
}

// TestHeadersStay redirects a request to another host and back to the first one. Both redirected
// requests must omit the headers that the program has set, except headers that only describe the
// requested answer.
func TestHeadersStay(t *testing.T) {
	var far *httptest.Server
	got := map[string]http.Header{}
	near := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got["near"+r.URL.Path] = r.Header
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, far.URL+"/back", http.StatusFound)
		case "/within":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		}
	}))
	defer near.Close()
	far = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got["far"+r.URL.Path] = r.Header
		http.Redirect(w, r, near.URL+"/end", http.StatusFound)
	}))
	defer far.Close()
	c := New(nil, nil)
	defer c.Close()
	request := func(path string) *effect.HTTP {
		return &effect.HTTP{Method: "GET", URL: near.URL + path + "?token=secret", Timeout: 10_000, Headers: []effect.Header{{Name: "X-Api-Key", Value: "k"}, {Name: "Authorization", Value: "Bearer k"},
			{Name: "Cookie", Value: "a=b"}, {Name: "X-Team", Value: "t"}, {Name: "Accept", Value: "text/plain"}, {Name: "User-Agent", Value: "mine"}}}
	}
	perform(t, c, request("/away"))
	for _, at := range []string{"far/back", "near/end"} {
		for name := range got[at] {
			if !slices.Contains([]string{"Accept", "Accept-Encoding", "User-Agent"}, name) {
				t.Errorf("request to %s contains header %s: %s", at, name, got[at][name])
			}
		}
		if got[at].Get("Accept") != "text/plain" || got[at].Get("User-Agent") != "mine" {
			t.Errorf("request to %s has headers %v, want those of the program that describe the answer", at, got[at])
		}
	}
	perform(t, c, request("/within"))
	if h := got["near/end"]; h.Get("X-Api-Key") != "k" || h.Get("Authorization") != "Bearer k" || h.Get("X-Team") != "t" {
		t.Error(h)
	}
}

func TestSameSite(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"http://a.example/x", "http://A.example:80/y", true}, {"http://a.example", "https://a.example", true}, {"https://a.example", "https://a.example:443/", true},
		{"https://a.example", "http://a.example", false}, {"http://a.example:8080", "https://a.example", false}, {"https://a.example", "https://b.a.example", false},
		{"https://a.example", "https://a.example:8443", false},
	} {
		from, _ := url.Parse(c.from)
		to, _ := url.Parse(c.to)
		if got := sameSite(to, from); got != c.want {
			t.Errorf("sameSite from %s to %s = %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// TestStatusOfFailures checks the status of failed requests. If no connection was made, the request
// did not happen. In all other cases the status is unknown, also if only the target of a redirect
// cannot be reached.
func TestStatusOfFailures(t *testing.T) {
	s := server(t)
	c := New(nil, nil)
	defer c.Close()
	led := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
	defer led.Close()
	for url, want := range map[string]effect.Status{
		"http://127.0.0.1:1/": effect.None,
		"http://":             effect.None,
		"file:///etc/hosts":   effect.None,
		s.URL + "/short":      effect.Unknown,
		led.URL:               effect.Unknown,
	} {
		_, err := c.Perform(t.Context(), &effect.HTTP{Method: "POST", URL: url, Timeout: 30_000})
		if e, ok := errors.AsType[*effect.Error](err); !ok || e.Status != want {
			t.Errorf("URL %s: status of the error = %v, want %v (error %v)", url, e.Status, want, err)
		}
	}
}

// TestOnceIsSentOnce checks that a request of class once is not sent again if a reused connection
// closes without a response, although it has a key.
func TestOnceIsSentOnce(t *testing.T) {
	for _, x := range []struct {
		method, header string
		want           int64
	}{{"POST", "", 1}, {"PATCH", "", 1}, {"POST", "X-Idempotency-Key", 1}, {"POST", "idempotency-key", 1}, {"PUT", "", 2}} {
		t.Run(x.method+x.header, func(t *testing.T) {
			var got atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/first" { // its connection is reused
					return
				}
				if r.Header.Get("Idempotency-Key")+r.Header.Get("X-Idempotency-Key") == "" {
					t.Error("a request has no key")
				}
				got.Add(1)
				panic(http.ErrAbortHandler)
			}))
			defer s.Close()
			c := New(nil, nil)
			defer c.Close()
			ctx := effect.WithKey(context.Background(), "r_1-2")
			text := "x"
			if _, err := c.Perform(ctx, &effect.HTTP{Method: "GET", URL: s.URL + "/first", Timeout: 10_000}); err != nil {
				t.Fatal(err)
			}
			q := &effect.HTTP{Method: x.method, URL: s.URL + "/second", Body: &text, Timeout: 10_000}
			if x.header != "" {
				q.Headers = []effect.Header{{Name: x.header, Value: "mine"}}
			}
			_, err := c.Perform(ctx, q)
			var failed *effect.Error
			if !errors.As(err, &failed) || failed.Status != effect.Unknown {
				t.Errorf("error %v, want one with unknown outcome", err)
			}
			if got := got.Load(); got != x.want {
				t.Errorf("the server has received %d requests, want %d", got, x.want)
			}
		})
	}
}
