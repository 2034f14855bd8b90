package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/playground/link"
)

// site writes a small playground and returns its handler.
func site(t *testing.T, content *link.Content, open bool) *Handler {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{Index: "<html><body>page</body>", Module: "plain", Module + ".br": "brotli", Module + ".gz": "gzip",
		"style.css": "css", "playground/secret.txt": "no", "../outside.css": "outside"} {
		file := filepath.Join(dir, "site", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := New(filepath.Join(dir, "site"), content, open)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// request sends a request and returns the status, the body and the header.
func request(t *testing.T, h http.Handler, method, path string, set func(*http.Request)) (int, string, http.Header) {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:80"+path, nil)
	if set != nil {
		set(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body), w.Header()
}

func TestEncodings(t *testing.T) {
	h := site(t, nil, false)
	for accept, want := range map[string]string{
		"": "plain", "gzip": "gzip", "gzip, deflate, br": "brotli", "br;q=0, gzip": "gzip", "br;q=0.0": "plain", "*, br;q=0": "gzip", "identity": "plain", "*": "brotli",
	} {
		code, body, head := request(t, h, "GET", "/"+Module, func(r *http.Request) { r.Header.Set("Accept-Encoding", accept) })
		encoding := map[string]string{"plain": "", "gzip": "gzip", "brotli": "br"}[want]
		if code != 200 || body != want || head.Get("Content-Encoding") != encoding || head.Get("Content-Type") != "application/wasm" || head.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: %d %q %v", accept, code, body, head)
		}
	}
}

func TestRequests(t *testing.T) {
	h := site(t, &link.Content{Files: map[string]string{"main.conc": "</script>"}, Open: "main.conc"}, false)
	for _, c := range []struct {
		method, path, host, origin string
		code                       int
		body                       string
	}{
		{path: "/", code: 200, body: `data-start="start.json"`},
		{method: "HEAD", path: "/", code: 200},
		{path: "/style.css", code: 200, body: "css"},
		{path: "/playground/start.json", code: 200, body: `{"files":{"main.conc":"\u003c/script\u003e"},"open":"main.conc"}`},
		{path: "/missing.css", code: 404},
		{path: "/playground/", code: 404},
		{path: "/playground/secret.txt", code: 404},
		{path: "/../outside.css", code: 404},
		{path: "/%2e%2e/outside.css", code: 404},
		{path: `/..%5coutside.css`, code: 404},
		{path: "//etc/passwd", code: 404},
		{method: "POST", path: "/", code: 405},
		{path: "/", host: "localhost:81", code: 200},
		{path: "/", host: "[::1]:80", code: 200},
		{path: "/", host: "evil.example", code: 421},
		{path: "/", host: "127.0.0.1.evil.example", code: 421},
		{path: "/", origin: "http://127.0.0.1:80", code: 200},
		{path: "/", origin: "http://127.0.0.1:81", code: 403},
		{path: "/", origin: "https://evil.example", code: 403},
		{path: "/", origin: "null", code: 403},
	} {
		code, body, head := request(t, h, "GET", c.path, func(r *http.Request) {
			if c.method != "" {
				r.Method = c.method
			}
			if c.host != "" {
				r.Host = c.host
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
		})
		if code != c.code || !strings.Contains(body, c.body) {
			t.Errorf("%+v: %d %q", c, code, body)
		}
		if head.Get("Content-Security-Policy") != Policy || head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: header %v", c, head)
		}
	}
	if code, _, _ := request(t, site(t, nil, true), "GET", "/", func(r *http.Request) { r.Host = "machine.example" }); code != 200 {
		t.Errorf("a request to an open server: %d", code)
	}
	if code, _, _ := request(t, site(t, nil, false), "GET", "/playground/start.json", nil); code != 404 {
		t.Errorf("the initial content of a page without one: %d", code)
	}
}

func TestIsLoopback(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:0": true, "[::1]:80": true, "localhost:80": true, ":80": false, "0.0.0.0:80": false, "192.0.2.1:80": false, "80": false} {
		if IsLoopback(addr) != want {
			t.Errorf("IsLoopback(%q) = %v", addr, !want)
		}
	}
}
