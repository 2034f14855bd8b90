package effect

// KindHTTP is the kind of HTTP.
const KindHTTP Kind = "http"

// HTTP sends a request and follows redirects. It returns an *HTTPResponse for any status. Its
// *Error is an HttpError with the field url.
type HTTP struct {
	Method  string   `json:"method"`
	URL     string   `json:"url"`
	Headers []Header `json:"headers,omitempty"`
	// Body is the body of the request; nil means none.
	Body *string `json:"body,omitempty"`
	// Timeout limits the request and the reading of the response, in milliseconds. It is positive.
	Timeout int64 `json:"timeout_ms"`
}

// Header is a header field of a request or a response.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HTTPResponse is the response to a request. The names in Headers are in lower case, sorted and
// unique; the values of a repeated header are joined by ", ". Body is UTF-8.
type HTTPResponse struct {
	Status  int64    `json:"status"`
	Headers []Header `json:"headers"`
	Body    string   `json:"body"`
}

// Kind returns KindHTTP.
func (*HTTP) Kind() Kind { return KindHTTP }
