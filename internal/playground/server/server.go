// Package server serves the playground, a directory of static files, to browsers on this machine.
package server

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/playground/link"
	"github.com/concerto-lang/concerto/web"
)

// Policy is the content security policy of the page. Scripts come from the page's own files only.
// Requests go to these files and, with the user's key, to providers of models and to servers on
// this machine.
const Policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; worker-src 'self'; " +
	"connect-src 'self' https://api.openai.com https://api.anthropic.com https://generativelanguage.googleapis.com http://127.0.0.1:* http://localhost:*; " +
	"base-uri 'none'; form-action 'none'"

// The names of files that the server distinguishes.
const (
	Index  = "index.html"
	Module = "playground/concerto.wasm"
	start  = "playground/start.json"
)

// types maps the extensions of files to media types.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".json": "application/json", ".zip": "application/zip", ".svg": "image/svg+xml", ".wasm": "application/wasm", "": "text/plain; charset=utf-8",
}

// encodings lists the encodings of files, the best first, with the extensions of their files.
var encodings = []struct{ name, end string }{{"br", ".br"}, {"gzip", ".gz"}}

// Handler serves the files of a playground.
type Handler struct {
	dir     string
	content []byte // JSON of the initial content; nil if the page begins with an example
	open    bool   // requests may come from other machines
}

// New returns a handler for the playground in a directory. content may be nil. open permits
// requests with any Host.
func New(dir string, content *link.Content, open bool) (*Handler, error) {
	h := &Handler{dir: dir, open: open}
	if content == nil {
		return h, nil
	}
	var err error
	h.content, err = json.Marshal(content)
	return h, err
}

// IsPlayground reports whether a directory contains a playground.
func IsPlayground(dir string) bool {
	for _, name := range []string{Index, Module} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// Installed returns the playground that was installed with an executable, if there is one: in the
// directory playground next to it, or in ../share/concerto.
func Installed(executable string) (dir string, ok bool) {
	if executable == "" {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(executable); err == nil {
		executable = real
	}
	for _, at := range []string{"playground", "../share/concerto/playground"} {
		if dir = filepath.Join(filepath.Dir(executable), filepath.FromSlash(at)); IsPlayground(dir) {
			return dir, true
		}
	}
	return "", false
}

// ServeHTTP serves a file.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", Policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-cache")
	switch {
	case !h.open && !isLocal(r.Host):
		http.Error(w, "this server answers requests to this machine only", http.StatusMisdirectedRequest)
	case !isOwnOrigin(r):
		http.Error(w, "this page may not use the playground's server", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "this is a file: use GET", http.StatusMethodNotAllowed)
	default:
		h.serveFile(w, r)
	}
}

// IsLoopback reports whether only this machine can reach an address to listen at.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && host != "" && isLocal(host)
}

// isLocal reports whether a request was sent to this machine by one of its own names. A page of
// another site whose name resolves to this machine has another Host.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// isOwnOrigin reports whether a request comes from the page itself or from no page.
func isOwnOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, r.Host)
}

// serveFile serves a file in the best encoding that the client accepts.
func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = Index
	}
	kind, known := types[path.Ext(name)]
	switch {
	case name == start && h.content != nil:
		w.Header().Set("Content-Type", types[".json"])
		_, _ = w.Write(h.content) // the client may have disconnected
		return
	case !known || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "\\"):
		http.NotFound(w, r)
		return
	}
	file := filepath.Join(h.dir, filepath.FromSlash(name))
	w.Header().Set("Content-Type", kind)
	if name == Index {
		h.serveIndex(w, r, file)
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	accepts := web.Accepts(r.Header.Get("Accept-Encoding"))
	for _, e := range encodings {
		if info, err := os.Stat(file + e.end); accepts(e.name) && err == nil && info.Mode().IsRegular() {
			w.Header().Set("Content-Encoding", e.name)
			w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
			r.Header.Del("Range") // a range of an encoded file would be useless
			file += e.end
			break
		}
	}
	f, err := os.Open(file)
	if err != nil {
		w.Header().Del("Content-Encoding")
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// serveIndex serves the page. If it has an initial content, the page loads that.
func (h *Handler) serveIndex(w http.ResponseWriter, r *http.Request, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if h.content != nil {
		text = bytes.Replace(text, []byte("<body>"), []byte(`<body data-start="start.json">`), 1)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(text) // the client may have disconnected
	}
}
