// Package web contains the relay's page, with which users follow runs, answer questions and approve
// requests in a browser. The page is built from the parts in web/ and the modules in page/. The
// built files are embedded and served unchanged.
//
// page/ contains the screens, page/data/ the data layer, and root/ the files with fixed names. `go
// generate` writes dist/. The page uses only the API that is available to every app
// (spec/24-relay.md).
package web

import (
	"embed"
	"io/fs"
	"net/http"

	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/web"
)

//go:generate go run ../../tools/web/gen -o dist -web ../../web -tree page=page -root root style.css page/page.css page/main.js

//go:embed dist
var dist embed.FS

// Routes returns the routes of the page. They require no login, because the page contains no data
// before login. Routes panics if the embedded page is damaged, which is a bug.
func Routes() []auth.Route { return RoutesOf(Built()) }

// Built returns the embedded page that tools/web/gen has written.
func Built() fs.FS {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err)
	}
	return built
}

// Apart returns the page for an origin that is not that of its server: of a browser whose decisions
// do not depend on what the server serves. server is the origin of the server. Apart panics if the
// embedded page is damaged, which is a bug.
func Apart(server string) *web.Dist { return open(Built(), server) }

func open(built fs.FS, server string) *web.Dist {
	page, err := web.OpenApart(built, server)
	if err != nil {
		panic(err)
	}
	return page
}

// RoutesOf returns the routes of another build of the page.
func RoutesOf(built fs.FS) []auth.Route {
	page := open(built, "")
	serve := func(w http.ResponseWriter, r *http.Request, _ *auth.Identity) { page.ServeHTTP(w, r) }
	rows := []auth.Route{
		{Method: "GET", Path: "/{$}", Right: auth.Open, Handle: serve},
		{Method: "GET", Path: "/setup", Right: auth.Open, Handle: func(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
			at := r.Clone(r.Context())
			at.URL.Path = "/"
			page.ServeHTTP(w, at)
		}},
		{Method: "GET", Path: "/assets/{file...}", Right: auth.Open, Handle: serve},
	}
	files, err := fs.ReadDir(built, web.Root)
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		rows = append(rows, auth.Route{Method: "GET", Path: "/" + f.Name(), Right: auth.Open, Handle: serve})
	}
	return rows
}
