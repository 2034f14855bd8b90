// Package web serves a page that is built from ES modules. Its directory also contains files that
// several pages use: parts (components), vendor (published modules, byte for byte) and style.css.
// tools/web/build builds a page from these files and the page's own modules. tools/web/gen writes
// the page to the directory from which a Go package embeds it.
package web

//go:generate go run ./lexemes parts/lexemes.js

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// The directories of a built page. Files in Assets are served under /assets/BUILD/, where BUILD is
// a hash of all of these files. Browsers cache them forever. Files in Root have fixed names, and
// browsers revalidate them on each request.
const (
	Assets = "assets"
	Root   = "root"
)

// The placeholders in Root files. Open replaces them by values of the build.
const (
	buildPath  = "/assets/BUILD/"
	assetsList = "/*assets*/[]"
)

// types maps the extensions of files to media types.
var types = map[string]string{
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
	".json": "application/json", ".webmanifest": "application/manifest+json",
	".svg": "image/svg+xml", ".png": "image/png",
	"": "text/plain; charset=utf-8", // licence files
}

// encodings lists the encodings of files, the best first, with their file extensions.
var encodings = []struct{ name, end string }{{"br", ".br"}, {"gzip", ".gz"}, {"", ""}}

// file is a served file: its bytes by encoding.
type file struct {
	kind    string // media type
	policy  string // content security policy of an HTML file with an import map; "" for that of the server
	etag    string // ETag without quotes and without the suffix for the encoding
	fixed   bool   // the name contains no hash, so browsers must revalidate the file
	content map[string][]byte
}

// Dist is a built page. It is safe for concurrent use.
type Dist struct {
	build  string
	server string           // origin of the server, if the page has another one; else ""
	files  map[string]*file // keys are URL paths
	assets []string
}

// Open reads a page that tools/web/gen wrote. The directory contains each file in its plain form or
// in one or more encodings, marked by the extension. Open unpacks files that have no plain form. It
// fails if a file is damaged or has an unknown type.
func Open(dist fs.FS) (*Dist, error) { return OpenApart(dist, "") }

// OpenApart is Open for a page that is served from another origin than its server. The page sends
// its requests to the server's origin, and its paths are relative, so that it can be in any
// directory of a site.
func OpenApart(dist fs.FS, server string) (*Dist, error) {
	d := &Dist{server: server, files: map[string]*file{}}
	assets, err := read(dist, Assets)
	if err != nil {
		return nil, err
	}
	d.build = hash(assets)
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		f := assets[name]
		f.etag = d.build
		d.files[d.Asset(name)] = f
		d.assets = append(d.assets, d.Asset(name))
	}
	roots, err := read(dist, Root)
	if err != nil {
		return nil, err
	}
	for name, f := range roots {
		if path.Ext(name) == ".html" {
			if err := d.secure(f); err != nil {
				return nil, fmt.Errorf("open %s: %w", name, err)
			}
		}
		if err := d.fill(f); err != nil {
			return nil, fmt.Errorf("open %s: %w", name, err)
		}
		d.files["/"+name] = f
	}
	if f, ok := d.files["/index.html"]; ok {
		d.files["/"] = f
	}
	return d, nil
}

// Build returns the hash that names this build.
func (d *Dist) Build() string { return d.build }

// Asset returns the URL path of an asset by its name in the page's trees, such as "parts/base.js".
func (d *Dist) Asset(name string) string { return "/assets/" + d.build + "/" + name }

// Has reports whether a URL path belongs to the page. This includes all paths below /assets/, also
// those of other builds.
func (d *Dist) Has(urlPath string) bool {
	return d.files[urlPath] != nil || strings.HasPrefix(urlPath, "/assets/")
}

// read reads the files below a directory with all their encodings.
func read(dist fs.FS, dir string) (map[string]*file, error) {
	out := map[string]*file{}
	err := fs.WalkDir(dist, dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		return addFile(out, strings.TrimPrefix(name, dir+"/"), data)
	})
	if err != nil {
		return nil, fmt.Errorf("open the built page: %w", err)
	}
	for name, f := range out {
		if err := f.unpack(); err != nil {
			return nil, fmt.Errorf("open %s of the built page: %w", name, err)
		}
	}
	return out, nil
}

func addFile(out map[string]*file, name string, data []byte) error {
	encoding := ""
	for _, e := range encodings {
		if e.end != "" && strings.HasSuffix(name, e.end) {
			name, encoding = strings.TrimSuffix(name, e.end), e.name
		}
	}
	kind, ok := types[path.Ext(name)]
	if !ok {
		return fmt.Errorf("unknown content type of %s", name)
	}
	if out[name] == nil {
		out[name] = &file{kind: kind, content: map[string][]byte{}}
	}
	out[name].content[encoding] = data
	return nil
}

// unpack creates the plain form of a file without one.
func (f *file) unpack() error {
	if _, ok := f.content[""]; ok {
		return nil
	}
	r, err := gzip.NewReader(bytes.NewReader(f.content["gzip"]))
	if err != nil {
		return err
	}
	f.content[""], err = io.ReadAll(r)
	return err
}

// hash returns a hash of the names and contents of all files.
func hash(files map[string]*file) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(files[name].content[""]))
	}
	return strings.ToLower(base32.HexEncoding.EncodeToString(h.Sum(nil))[:16])
}

// fill replaces the placeholders in a file with a fixed name.
func (d *Dist) fill(f *file) error {
	list, err := json.Marshal(d.assets)
	if err != nil {
		return err
	}
	text := f.content[""]
	text = bytes.ReplaceAll(text, []byte(assetsList), list)
	text = bytes.ReplaceAll(text, []byte(buildPath), []byte("/assets/"+d.build+"/"))
	if strings.HasPrefix(f.kind, "text/html") {
		text = d.relative(text)
	}
	f.fixed = true
	f.etag = fmt.Sprintf("%x", sha256.Sum256(text))[:16]
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	f.content = map[string][]byte{"": text, "gzip": packed.Bytes()}
	return nil
}
