package llm

import http "github.com/concerto-lang/concerto/runtime/llm/httpport"

// newHTTP returns the transport for a connection's requests.
func newHTTP(*Connection) *http.Transport { return &http.Transport{} }

// explainNetwork reports that the reason for an error of the network is unknown, because
// browsers hide it from pages.
func (f *Failure) explainNetwork(*endpoint, error) bool { return false }

// isNetworkError reports whether err is an error of a connection, which a page cannot know.
func isNetworkError(error) bool { return false }
