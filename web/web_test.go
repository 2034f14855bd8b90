package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func packed(t *testing.T, s string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func plainFile(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

const module = "export const a = 1;"

func page(t *testing.T) fstest.MapFS {
	return fstest.MapFS{
		"assets/page/main.js.gz": packed(t, module), "assets/page/main.js.br": plainFile("(br)"),
		"assets/vendor/p/LICENSE.gz": packed(t, "MIT"), "assets/style.css": plainFile("a{}"),
		"root/index.html": plainFile(`<script type="module" src="/assets/BUILD/page/main.js"></script>`),
		"root/sw.js":      plainFile("const all = /*assets*/[];"),
	}
}

// get sends a request and returns the response with its body. headers contains alternating names
// and values.
func get(t *testing.T, h http.Handler, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestAssetsAreCachedForEver(t *testing.T) {
	d, err := Open(page(t))
	if err != nil {
		t.Fatal(err)
	}
	main := d.Asset("page/main.js")
	for _, c := range []struct{ accept, encoding, body string }{
		{"gzip, deflate, br", "br", "(br)"}, {"br;q=0, gzip;q=0.5", "gzip", ""}, {"", "", module}, {"*", "br", "(br)"}, {"zstd", "", module},
	} {
		r, body := get(t, d, "GET", main, "Accept-Encoding", c.accept)
		if r.StatusCode != 200 || r.Header.Get("Content-Encoding") != c.encoding || c.body != "" && body != c.body {
			t.Errorf("response for Accept-Encoding %q: status %d, Content-Encoding %q, body %q", c.accept, r.StatusCode, r.Header.Get("Content-Encoding"), body)
		}
		if got := r.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("Cache-Control = %s", got)
		}
		if got := r.Header.Get("Content-Type"); got != "text/javascript; charset=utf-8" {
			t.Errorf("Content-Type = %s", got)
		}
		if r.Header.Get("Vary") != "Accept-Encoding" {
			t.Error("no Vary header: a cache may send a response to a client that does not accept its encoding")
		}
		if second, body := get(t, d, "GET", main, "Accept-Encoding", c.accept, "If-None-Match", r.Header.Get("ETag")); second.StatusCode != 304 || body != "" {
			t.Errorf("request with If-None-Match: status %d, body %q", second.StatusCode, body)
		}
		if head, none := get(t, d, "HEAD", main, "Accept-Encoding", c.accept); head.StatusCode != 200 || none != "" || head.ContentLength != int64(len(body)) {
			t.Errorf("HEAD: status %d, body %q, Content-Length %d", head.StatusCode, none, head.ContentLength)
		}
	}
}

func TestFixedNamesAreRevalidated(t *testing.T) {
	d, err := Open(page(t))
	if err != nil {
		t.Fatal(err)
	}
	r, body := get(t, d, "GET", "/")
	if want := `<script type="module" src="` + d.Asset("page/main.js") + `"></script>`; body != want {
		t.Errorf("page = %s, want %s", body, want)
	}
	if r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("headers = %v", r.Header)
	}
	if _, body := get(t, d, "GET", "/sw.js"); body != `const all = ["`+d.Asset("page/main.js")+`","`+d.Asset("style.css")+`","`+d.Asset("vendor/p/LICENSE")+`"];` {
		t.Errorf("service worker = %s", body)
	}
	if packed, _ := get(t, d, "GET", "/index.html", "Accept-Encoding", "gzip"); packed.Header.Get("Content-Encoding") != "gzip" {
		t.Error("the page is not served compressed")
	}
}

func TestMissingFiles(t *testing.T) {
	d, err := Open(page(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		code         int
		has          bool
	}{
		{"GET", "/assets/old/page/main.js", 404, true}, {"GET", "/runs", 404, false}, {"GET", "/root/index.html", 404, false},
		{"POST", "/", 405, true}, {"GET", "/assets/../root/sw.js", 404, true},
	} {
		r, _ := get(t, d, c.method, c.path)
		if r.StatusCode != c.code || d.Has(c.path) != c.has {
			t.Errorf("%s %s: status %d, Has = %v", c.method, c.path, r.StatusCode, d.Has(c.path))
		}
		if c.code == 404 && r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control of %s = %s, want no caching", c.path, r.Header.Get("Cache-Control"))
		}
	}
}

func TestBuildName(t *testing.T) {
	build := func(change func(fstest.MapFS)) string {
		p := page(t)
		change(p)
		d, err := Open(p)
		if err != nil {
			t.Fatal(err)
		}
		return d.Build()
	}
	first := build(func(fstest.MapFS) {})
	if second := build(func(p fstest.MapFS) { p["root/sw.js"] = plainFile("other") }); second != first {
		t.Errorf("build hashes of equal assets = %s and %s", first, second)
	}
	if other := build(func(p fstest.MapFS) { p["assets/style.css"] = plainFile("b{}") }); other == first {
		t.Error("different assets have the same build hash")
	}
}

func TestADamagedPageIsNotServed(t *testing.T) {
	for text, p := range map[string]fstest.MapFS{
		"no-idea.xyz":  {"assets/no-idea.xyz": plainFile(""), "root/index.html": plainFile("")},
		"page/main.js": {"assets/page/main.js.gz": plainFile("this is no gzip"), "root/index.html": plainFile("")},
		"assets":       {"root/index.html": plainFile("")},
	} {
		if _, err := Open(p); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v does not contain %s", err, text)
		}
	}
}
