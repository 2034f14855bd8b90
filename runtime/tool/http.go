package tool

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// HTTP is a handler that sends a request to an address. It is the member `http` of a tool's full
// form (spec/21-application-tools.md). Each call sends one request, which is never repeated.
type HTTP struct {
	URL string `json:"url"`
	// default POST; with GET the scalars of the input become the query
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"` // sent unchanged
	// headers whose values come from variables of the session or the run
	HeadersEnv map[string]string `json:"headers_env"`
	Answer     string            `json:"answer"`     // AnswerJSON, AnswerText
	MaxOutput  int               `json:"max_output"` // bytes of the answer
}

// address is the handler of a tool with an HTTP.
type address struct {
	HTTP
	name string
	url  *url.URL
}

// httpMethods lists the allowed methods.
var httpMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// UnmarshalJSON parses the full form. It returns an error for an unknown member.
func (x *HTTP) UnmarshalJSON(text []byte) error {
	type plain HTTP
	return strictly(text, (*plain)(x))
}

// Definition returns the tool that sends requests to the address. The error joins all
// *DefinitionErrors in the HTTP.
func (x HTTP) Definition(s Spec, _ string) (Definition, error) {
	d := s.With(nil)
	r := rules{d: &d}
	u, err := url.Parse(x.URL)
	switch {
	case err != nil:
		r.addProblem("/http/url", "must be a URL: %v", errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		r.addProblem("/http/url", "must be a URL that starts with http:// or https://, not %q", x.URL)
	case u.User != nil:
		r.addProblem("/http/url", "must not contain a password: put it into an environment variable, and name that in `headers_env`")
	}
	if x.Method == "" {
		x.Method = http.MethodPost
	}
	if !slices.Contains(httpMethods, x.Method) {
		r.addProblem("/http/method", "must be one of %s, not %q", strings.Join(httpMethods, ", "), x.Method)
	}
	r.headers("/http/headers/", x.Headers)
	r.headers("/http/headers_env/", x.HeadersEnv)
	for _, name := range slices.Sorted(maps.Keys(x.HeadersEnv)) {
		r.checkVariable("/http/headers_env/"+name, x.HeadersEnv[name])
	}
	r.form("/http/answer", &x.Answer, AnswerJSON, AnswerText)
	r.most("/http/max_output", &x.MaxOutput)
	d.Handler = (&address{x, s.Name, u}).sendCall
	return d, errors.Join(r.errs...)
}

// ownHeaders lists the headers that only this package may set.
var ownHeaders = []string{"Idempotency-Key", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade"}

func (r *rules) headers(at string, all map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case !isHeader(name):
			r.addProblem(at+name, "must be the name of a header, not %q", name)
		case !isHeaderValue(all[name]):
			r.addProblem(at+name, "must be the value of a header, without control characters")
		case slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
			r.addProblem(at+name, "is set by Concerto itself")
		}
	}
}

// isHeader reports whether a text is a valid header name (RFC 9110, 5.6.2).
func isHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c)
	})
}

func isHeaderValue(v string) bool {
	return !strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
