package webtest

import (
	"net/http"
	"strings"
)

// Tamper restarts the server as a hostile one, which serves another script than the released one
// for the paths that end with a suffix.
func (r *Relay) Tamper(suffix, script string) {
	r.T.Helper()
	next := r.wrap
	r.wrap = func(h http.Handler) http.Handler {
		h = next(h)
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if !strings.HasSuffix(q.URL.Path, suffix) {
				h.ServeHTTP(w, q)
				return
			}
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			_, _ = w.Write([]byte(script))
		})
	}
	r.Stop()
	r.Restart()
}
