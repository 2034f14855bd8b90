package web

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Policy is the content security policy for all pages that use the parts: nothing from other
// origins, and scripts and styles only from files.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; worker-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP serves the page's files. Files with a hash in their name may be cached forever, all
// others must be revalidated. It answers other paths with 404 and methods other than GET and HEAD
// with 405. The server sets the security headers.
func (d *Dist) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := d.files[r.URL.Path]
	if f == nil {
		w.Header().Set("Cache-Control", "no-store")
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this is a file: use GET", http.StatusMethodNotAllowed)
		return
	}
	f.serve(w, r)
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	encoding := f.choose(r.Header.Get("Accept-Encoding"))
	content := f.content[encoding]
	h := w.Header()
	if f.policy != "" {
		h.Set("Content-Security-Policy", f.policy)
		h.Set("Integrity-Policy", IntegrityPolicy)
	}
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if f.fixed {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("ETag", strconv.Quote(f.etag+encoding))
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
		h.Set("Content-Length", strconv.Itoa(len(content)))
	}
	r.Header.Del("Range") // a range of an encoded file would be useless
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// choose returns the best encoding that the client accepts and the file has.
func (f *file) choose(accept string) string {
	accepts := Accepts(accept)
	for _, e := range encodings {
		if _, has := f.content[e.name]; has && e.name != "" && accepts(e.name) {
			return e.name
		}
	}
	return ""
}

// Accepts parses an Accept-Encoding header and returns a function that reports whether an encoding
// is accepted.
func Accepts(header string) func(string) bool {
	weights := map[string]bool{}
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		_, q, weighted := strings.Cut(parameters, "q=")
		weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		weights[strings.ToLower(strings.TrimSpace(name))] = !weighted || err == nil && weight > 0
	}
	return func(name string) bool {
		if weight, ok := weights[name]; ok {
			return weight
		}
		return weights["*"]
	}
}
