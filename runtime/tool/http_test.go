package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// served is a test server that records its requests.
type served struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *served {
	t.Helper()
	s := &served{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.asked = append(s.asked, fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("Idempotency-Key"), body))
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// received returns the recorded requests as "METHOD URL KEY BODY".
func (s *served) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func called(t *testing.T, x HTTP, spec Spec, args string, c Context, h Hooks) Ended {
	t.Helper()
	spec.Name = "x"
	d, err := x.Definition(spec, "")
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, registered(t, d), c, h).Do(context.Background(), Ask{Name: "x", Args: json.RawMessage(args), Caller: "Clerk", Route: RouteAgent})
}

// TestHTTPRequest checks that the request contains the same input as that of a command, with the
// call's ID as its idempotency key.
func TestHTTPRequest(t *testing.T) {
	var got http.Header
	var host string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, host = r.Header, r.Host
		_, _ = io.WriteString(w, `{"price": 7}`)
	})
	var received []string
	w := World{Environ: []string{"AUTH=Bearer k", "OF_SESSION=run"}, Secret: func(name, value string) { received = append(received, name+"="+value) },
		Refused: func(owner string, r Reach) string {
			received = append(received, fmt.Sprint(owner, r.Address == s.URL+"/price?v=1", r.Env))
			return ""
		}}
	x := HTTP{URL: s.URL + "/price?v=1", Headers: map[string]string{"X-Team": "a", "host": "price.test"}, HeadersEnv: map[string]string{"Authorization": "AUTH", "X-S": "OF_SESSION"}}
	c := Context{SessionID: "s", Cwd: "/w", Environment: map[string]string{"OF_SESSION": "session"}}
	e := called(t, x, Spec{}, `{"sku": "ü"}`, c, Hooks{World: w})
	if string(e.Result.Output) != `{"price":7}` || e.Outcome != OutcomeOK {
		t.Errorf("error %q, output %s; want output {\"price\":7}", e.Result.Error, e.Result.Output)
	}
	want := `POST /price?v=1 s-1 {"input":{"sku":"ü"},"context":{"session_id":"s","cwd":"/w","environment":{"OF_SESSION":"session"},"metadata":{},"call_id":"s-1","tool":"x","version":1,"by":"Clerk","route":"agent"}}`
	if len(s.received()) != 1 || s.received()[0] != want {
		t.Errorf("requests = %q\nwant %s", s.received(), want)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "X-Team": "a", "Authorization": "Bearer k", "X-S": "session"} {
		if got.Get(name) != want {
			t.Errorf("header %s = %q, want %q", name, got.Get(name), want)
		}
	}
	if want := []string{"AUTH=Bearer k", "OF_SESSION=session", "gotrue [AUTH]"}; host != "price.test" || !slices.Equal(received, want) {
		t.Errorf("host = %s, secrets and variables = %q, want %q", host, received, want)
	}
}

// TestHTTPGet checks that a GET request contains the scalars of the input in its query, in addition
// to the query in the address.
func TestHTTPGet(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != "" {
			t.Error("the request has a content type but no body")
		}
		_, _ = io.WriteString(w, "cheap\n")
	})
	var rec recorder
	e := called(t, HTTP{URL: s.URL + "/p?key=own&b=%20", Method: "GET", Answer: "text"}, Spec{},
		`{"q": "a b&c", "n": 9007199254740993, "t": true, "none": null, "list": [1], "key": "model's", "o": {}}`, Context{SessionID: "s"}, rec.hooks())
	if text, _ := e.Text(); text != "cheap\n" {
		t.Errorf("text = %q, want \"cheap\\n\"", text)
	}
	if want := []string{"GET /p?key=own&b=%20&n=9007199254740993&none=null&q=a+b%26c&t=true s-1 "}; !slices.Equal(s.received(), want) {
		t.Errorf("requests = %q, want %q", s.received(), want)
	}
	if want := []string{"warn tool 'x': GET sends only scalars, and none that the address already contains: key, list, o was left out"}; !slices.Equal(rec.logs, want) {
		t.Errorf("log = %q, want one warning about the omitted members", rec.logs)
	}
}

// TestHTTPAnswers checks how the server's response determines the result of the call.
func TestHTTPAnswers(t *testing.T) {
	long := strings.Repeat("é", 499) + "x"
	for _, c := range []struct {
		status       int
		answer, body string
		want         string // the expected result as "Success Output Error"
	}{
		{200, "json", `{"success": true, "output": [1]}`, `true [1] `},
		{201, "json", `{"success": false, "error": "sold out"}`, `false  sold out`},
		{200, "json", `oops`, `false  returned no JSON: oops`},
		{204, "json", ``, `false  returned no JSON: `},
		{200, "text", "oops\n", `true "oops\n" `},
		{500, "json", ` broken ` + "\n", `false  answered with status 500 Internal Server Error: broken`},
		{404, "text", ``, `false  answered with status 404 Not Found`},
		{599, "json", long, `false  answered with status 599: ` + long},
		{418, "json", long + "yz", `false  answered with status 418 I'm a teapot: ` + long + `…`},
		{422, "json", `{"success": false, "error": "sold out", "output": 3}`, `false 3 answered with status 422 Unprocessable Entity: sold out`},
		{422, "json", `{"success": true, "output": 3}`, `false  answered with status 422 Unprocessable Entity: {"success": true, "output": 3}`},
		{304, "json", ``, `false  answered with status 304 Not Modified`},
		{200, "json", `"` + strings.Repeat("x", 2000) + `"`, `false  returned more than 1500 bytes (max_output)`},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		e := called(t, HTTP{URL: s.URL, Answer: c.answer, MaxOutput: 1500}, Spec{}, `{}`, Context{}, Hooks{})
		if got := fmt.Sprintf("%v %s %s", e.Result.Success, e.Result.Output, e.Result.Error); got != c.want {
			t.Errorf("status %d, body %q: result %s\nwant %s", c.status, c.body, got, c.want)
		}
		if len(s.received()) != 1 {
			t.Errorf("the server received %d requests, want 1", len(s.received()))
		}
	}
}

// TestHTTPRedirects checks that a redirect is followed only on the same host, and only if the run
// permits it.
func TestHTTPRedirects(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("another host was called") })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusPermanentRedirect)
		case "/forbidden":
			http.Redirect(w, r, "/no", http.StatusSeeOther)
		default:
			_, _ = io.WriteString(w, `"there"`)
		}
	})
	h := Hooks{World: World{Refused: func(_ string, r Reach) string {
		if strings.HasSuffix(r.Address, "/no") {
			return "calling it is not permitted"
		}
		return ""
	}}}
	for path, want := range map[string]string{
		"/":          `"there" `,
		"/away":      " POST " + s.URL + "/away: it redirects to " + other.URL + ", but other hosts are not called",
		"/round":     " POST " + s.URL + "/round: it redirected 10 times",
		"/forbidden": " POST " + s.URL + "/forbidden: calling it is not permitted",
	} {
		e := called(t, HTTP{URL: s.URL + path}, Spec{}, `{"a":1}`, Context{SessionID: "s"}, h)
		if got := fmt.Sprintf("%s %s", e.Result.Output, e.Result.Error); got != want {
			t.Errorf("path %s: result %s, want %s", path, got, want)
		}
	}
	if !slices.ContainsFunc(s.received(), func(a string) bool { return strings.HasPrefix(a, `POST /there s-1 {"input":{"a":1}`) }) {
		t.Errorf("requests = %q, want one to /there with the input", s.received())
	}
}

// TestHTTPCannotCall checks the error of a call whose request cannot be sent.
func TestHTTPCannotCall(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	for want, c := range map[string]struct {
		x HTTP
		w World
	}{
		"environment variable AUTH is not set: it contains the header Authorization":                 {HTTP{HeadersEnv: map[string]string{"Authorization": "AUTH"}}, World{Environ: []string{}}},
		"environment variable AUTH, which contains the header Authorization, has control characters": {HTTP{HeadersEnv: map[string]string{"Authorization": "AUTH"}}, World{Environ: []string{"AUTH=a\nb"}}},
		"calling it is not permitted": {HTTP{}, World{Refused: func(string, Reach) string { return "calling it is not permitted" }}},
	} {
		c.x.URL = s.URL
		if e := called(t, c.x, Spec{}, `{}`, Context{}, Hooks{World: c.w}); e.Result.Error != want || e.Outcome != OutcomeFailed {
			t.Errorf("error = %q, want %q", e.Result.Error, want)
		}
	}
	if len(s.received()) > 0 {
		t.Errorf("requests = %q, want none", s.received())
	}
	// Port 1 has no listener. The port of a closed test server could be in use again.
	e := called(t, HTTP{URL: "http://127.0.0.1:1/?key=k"}, Spec{}, `{}`, Context{}, Hooks{})
	if !strings.HasPrefix(e.Result.Error, "POST http://127.0.0.1:1/: ") || !strings.Contains(e.Result.Error, "refused") {
		t.Errorf("error = %q, want a refused connection without the query", e.Result.Error)
	}
}

// TestHTTPHides checks that known secrets are removed from a response that repeats the request.
func TestHTTPHides(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad key k1", http.StatusUnauthorized) })
	h := Hooks{Hide: func(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "k1", "***KEY***")) }}
	if e := called(t, HTTP{URL: s.URL}, Spec{}, `{}`, Context{}, h); e.Result.Error != "answered with status 401 Unauthorized: bad key ***KEY***" {
		t.Errorf("error = %q, want the key to be hidden", e.Result.Error)
	}
}

// TestHTTPDefinition checks that all errors in a definition are reported with their positions.
func TestHTTPDefinition(t *testing.T) {
	_, err := HTTP{URL: "ftp://a", Method: "get", Answer: "lines", MaxOutput: -1, Headers: map[string]string{"a b": "x", "A": "\n", "idempotency-key": "x"},
		HeadersEnv: map[string]string{"B": "$C", "C": "D=E"}}.Definition(Spec{Name: "x"}, "")
	want := `tool 'x': /http/url: must be a URL that starts with http:// or https://, not "ftp://a"
tool 'x': /http/method: must be one of GET, POST, PUT, PATCH, DELETE, not "get"
tool 'x': /http/headers/A: must be the value of a header, without control characters
tool 'x': /http/headers/a b: must be the name of a header, not "a b"
tool 'x': /http/headers/idempotency-key: is set by Concerto itself
tool 'x': /http/headers_env/C: must be the name of an environment variable, not "D=E"
tool 'x': /http/answer: must be one of json, text, not "lines"
tool 'x': /http/max_output: must be 1 or more, not -1`
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
	for u, want := range map[string]string{
		"http://u:p@a": "must not contain a password: put it into an environment variable, and name that in `headers_env`",
		"http://[":     "must be a URL: missing ']' in host",
	} {
		var of *DefinitionError
		if _, err := (HTTP{URL: u}).Definition(Spec{Name: "x"}, ""); !errors.As(err, &of) || of.Pointer != "/http/url" || of.Why != want {
			t.Errorf("definition with URL %s: error %v, want %q", u, err, want)
		}
	}
	var x HTTP
	if err := json.Unmarshal([]byte(`{"url": "http://a", "method": "GET", "headers": {"A": "b"}, "headers_env": {"C": "D"}, "answer": "text", "max_output": 3}`), &x); err != nil ||
		fmt.Sprint(x) != fmt.Sprint(HTTP{"http://a", "GET", map[string]string{"A": "b"}, map[string]string{"C": "D"}, "text", 3}) {
		t.Errorf("decoded definition = %+v (error %v)", x, err)
	}
}

// TestHTTPStalls calls a server that stops sending, in the headers and in the body. The call must
// end with its timeout and with its context.
func TestHTTPStalls(t *testing.T) {
	for _, begins := range []bool{false, true} {
		closed, begun := make(chan struct{}, 2), make(chan struct{}, 2)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if begins {
				_, _ = io.WriteString(w, `{"a": `)
				w.(http.Flusher).Flush()
			}
			begun <- struct{}{}
			<-r.Context().Done()
			closed <- struct{}{}
		})
		e := called(t, HTTP{URL: s.URL}, Spec{Timeout: 0.1}, `{}`, Context{}, Hooks{})
		if e.Outcome != OutcomeTimeout || e.Result.Error != "tool 'x' timed out after 0.1 s" {
			t.Errorf("outcome %s with error %q, want the timeout after 0.1 s", e.Outcome, e.Result.Error)
		}
		<-closed
		<-begun
		d, err := HTTP{URL: s.URL}.Definition(Spec{Name: "x"}, "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-begun; cancel() }()
		e = opened(t, registered(t, d), Context{}, Hooks{}).Do(ctx, Ask{Name: "x"})
		if e.Outcome != OutcomeCancelled || e.Duration > time.Minute {
			t.Errorf("outcome %s with error %q, want a cancellation", e.Outcome, e.Result.Error)
		}
		<-closed
	}
}

// TestHTTPDies calls a server that closes the connection while it sends. The incomplete response
// must not count as an answer, and the request must not be repeated.
func TestHTTPDies(t *testing.T) {
	for _, begins := range []bool{false, true} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if begins {
				_, _ = io.WriteString(w, `{"a": `)
				w.(http.Flusher).Flush()
			}
			panic(http.ErrAbortHandler)
		})
		for i := range 2 {
			e := called(t, HTTP{URL: s.URL}, Spec{}, `{}`, Context{}, Hooks{})
			if e.Outcome != OutcomeFailed || !strings.HasPrefix(e.Result.Error, "POST "+s.URL+": ") || len(s.received()) != i+1 {
				t.Errorf("outcome %s with error %q after %d requests, want a failure without a repetition", e.Outcome, e.Result.Error, len(s.received()))
			}
		}
	}
}

// TestEndlessRefusal checks that only the first part of a refusal's body is read, also with a large
// max_output.
func TestEndlessRefusal(t *testing.T) {
	var sent atomic.Int64
	part := bytes.Repeat([]byte("x"), 1<<16)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		for {
			n, err := w.Write(part)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	e := called(t, HTTP{URL: s.URL, MaxOutput: 1 << 30}, Spec{}, `{}`, Context{}, Hooks{})
	s.Close() // waits for the handler
	if want := "answered with status 500 Internal Server Error: xxx"; !strings.HasPrefix(e.Result.Error, want) {
		t.Errorf("got %.200q, want %q", e.Result.Error, want)
	}
	if n := sent.Load(); n > 250<<20 {
		t.Errorf("the server sent %d MiB, want the first part and what the system buffers", n>>20)
	}
}
