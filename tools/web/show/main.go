// Command show serves the page that shows every part in all its states. It builds the page from the
// current files for each request. Its tests check the same page in a browser.
//
//	go run ./tools/web/show [ADDRESS]
package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"testing/fstest"

	"github.com/concerto-lang/concerto/tools/web/build"
	"github.com/concerto-lang/concerto/web"
)

func main() {
	address := "127.0.0.1:8790"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	fmt.Printf("http://%s/components.html\n", address)
	err := http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, err := open(os.DirFS("web"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		secured(page).ServeHTTP(w, r)
	}))
	fmt.Fprintln(os.Stderr, "show:", err)
	os.Exit(1)
}

// secured serves a page with the security headers that a server must send.
func secured(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", web.Policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		page.ServeHTTP(w, r)
	})
}

// open builds the page from the files of web. more contains the names of additional entries.
func open(files fs.FS, more ...string) (*web.Dist, error) {
	built, err := build.Build(build.Input{Tree: map[string]fs.FS{"": files}, Entries: append([]string{"components/main.js", "style.css", "components/page.css"}, more...)})
	if err != nil {
		return nil, err
	}
	html, err := fs.ReadFile(files, "components.html")
	if err != nil {
		return nil, err
	}
	page, err := built.Page(string(html))
	if err != nil {
		return nil, err
	}
	dist := fstest.MapFS{path.Join(web.Root, "components.html"): {Data: []byte(page)}}
	for name, data := range built.Files {
		dist[path.Join(web.Assets, name)] = &fstest.MapFile{Data: data}
	}
	return web.Open(dist)
}
