package effect

// KindHTTP is one HTTP request.
const KindHTTP Kind = "http"

// HTTP sends a request, follows redirects and returns an *HTTPResponse, whatever its status. Its
// *Error is an HttpError with field url.
type HTTP struct {
	Method  string   `json:"method"`
	URL     string   `json:"url"`
	Headers []Header `json:"headers,omitempty"`
	// Body is sent when there is one, even an empty one.
	Body *string `json:"body,omitempty"`
	// Timeout bounds the request and the reading of its answer, in
	// milliseconds; it is positive.
	Timeout int64 `json:"timeout_ms"`
}

// Header is a line of a request's or response's header.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HTTPResponse is the answer to a request. Headers have lower-case names, are
// sorted by name, and each name occurs once: the values of a repeated header
// are joined by a comma and a space. Body is UTF-8.
type HTTPResponse struct {
	Status  int64    `json:"status"`
	Headers []Header `json:"headers"`
	Body    string   `json:"body"`
}

// Kind is KindHTTP.
func (*HTTP) Kind() Kind { return KindHTTP }
