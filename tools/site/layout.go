package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// layout is the form of all pages. It is well-formed XML.
var layout = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>{{.Title}}</title>
{{with .About}}<meta name="description" content="{{.}}" />
{{end}}<link rel="stylesheet" href="{{.Root}}assets/style.css" />
<link rel="icon" href="{{.Root}}assets/icon.svg" type="image/svg+xml" />
<link rel="alternate" type="text/markdown" href="{{.Markdown}}" />
{{with .Prev}}<link rel="prev" href="{{.Link}}" />
{{end}}{{with .Next}}<link rel="next" href="{{.Link}}" />
{{end}}<script src="{{.Root}}assets/site.js" data-root="{{.Root}}" defer=""></script>
</head>
<body{{if .Home}} class="home"{{end}}>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="brand" href="{{.Root}}index.html">Concerto</a>
<nav aria-label="Parts of the site"><ul>{{range .Sections}}<li><a href="{{.Link}}"{{if .Current}} aria-current="true"{{end}}>{{.Text}}</a></li>{{end}}</ul></nav>
<div class="search" role="search" hidden=""><label class="unseen" for="search">Search the documentation</label><input id="search" type="search" data-testid="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false" aria-controls="search-results" /><div id="search-results" class="results" data-testid="search-results" role="region" aria-label="Search results" hidden=""></div><span class="unseen" role="status" data-testid="search-count"></span></div>
</header>
<div class="columns">
{{if .Side}}<nav class="side" aria-label="Pages: {{.SideTitle}}"><details open=""><summary>{{.SideTitle}}</summary>
{{range .Side}}{{if .Text}}<details{{if .Current}} open=""{{end}}><summary>{{.Text}}</summary>{{end}}<ul>{{range .Inner}}<li><a href="{{.Link}}"{{if .Current}} aria-current="page"{{end}}>{{.Text}}</a></li>{{end}}</ul>{{if .Text}}</details>{{end}}
{{end}}</details></nav>
{{end}}{{if .Contents}}<nav class="contents" aria-label="On this page"><details open=""><summary>On this page</summary><ul>{{range .Contents}}<li><a href="{{.Link}}">{{.Text}}</a>{{if .Inner}}<ul>{{range .Inner}}<li><a href="{{.Link}}">{{.Text}}</a></li>{{end}}</ul>{{end}}</li>{{end}}</ul></details></nav>
{{end}}<main id="content" tabindex="-1">
<article>
{{.Content}}</article>
{{if or .Prev .Next}}<nav class="neighbours" aria-label="Previous and next page">{{with .Prev}}<a rel="prev" href="{{.Link}}"><span>Previous</span> {{.Text}}</a>{{end}}{{with .Next}}<a rel="next" href="{{.Link}}"><span>Next</span> {{.Text}}</a>{{end}}</nav>
{{end}}</main>
</div>
<footer><p>Concerto <span data-testid="version">{{.Version}}</span> · <a href="{{.Markdown}}">This page as Markdown</a> · <a href="{{.Root}}llms.txt">llms.txt</a></p>{{if .Home}}<p id="versions" data-testid="versions" hidden="">Other versions: </p>{{end}}</footer>
</body>
</html>
`))

// entry is a link in the layout.
type entry struct {
	Link    string
	Text    string
	Current bool
	Inner   []entry
}

// view is the content of the layout.
type view struct {
	Title, About, Root, Markdown, Version string
	Prev, Next                            *entry
	Sections                              []entry
	Side                                  []entry // themes of the section, with their pages; a theme without a name has no heading
	Contents                              []entry // headings of the page
	SideTitle                             string
	Content                               template.HTML
	Home                                  bool
}

// maxSide is the number of pages of a section up to which each page lists all of them. In a larger
// section, each page lists those of its theme.
const maxSide = 80

// contentsOf returns the headings of a page, those of the third level below those of the second. A
// page with one heading has no contents.
func contentsOf(doc document) (all []entry) {
	for _, h := range doc.Headings {
		e := entry{Link: "#" + h.ID, Text: h.Text}
		switch {
		case h.Level == 2:
			all = append(all, e)
		case h.Level == 3 && len(all) > 0 && len(doc.Headings) <= maxContents:
			last := &all[len(all)-1]
			last.Inner = append(last.Inner, e)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// maxContents is the number of headings up to which the contents of a page have those of the third
// level.
const maxContents = 40

// render returns a page as HTML.
func (s *site) render(p *page) ([]byte, error) {
	doc, err := s.convert(p)
	if err != nil {
		return nil, err
	}
	v := view{Title: p.Title + " · Concerto " + strings.ToLower(p.Section.Title), About: summary(p.Text), Root: strings.Repeat("../", strings.Count(p.Path, "/")),
		Markdown: base(p) + ".md", Version: s.version, Content: template.HTML(doc.HTML), Home: p == s.home}
	if p == s.home {
		v.Title = "Concerto: a language that supervises AI agents"
	}
	if p.Path == "playground/index" {
		v.Markdown = v.Root + "index.md"
		v.Title = "Playground · Concerto"
	}
	to := func(x *page) *entry {
		if x == nil {
			return nil
		}
		return &entry{Link: relative(p.Path, x.Path+".html"), Text: x.Title, Current: x == p}
	}
	v.Prev, v.Next = to(p.Prev), to(p.Next)
	for _, sec := range s.sections {
		first := *to(sec.Pages[0])
		first.Text, first.Current = sec.Title, sec == p.Section && p != s.home && p.Path != "playground/index"
		v.Sections = append(v.Sections, first)
	}
	v.Sections = append(v.Sections, entry{Link: v.Root + "playground/index.html", Text: "Playground", Current: p.Path == "playground/index"})
	if p != s.home && p.Path != "playground/index" {
		v.SideTitle, v.Contents = p.Section.Title, contentsOf(doc)
		for _, th := range s.themesOf(p.Section) {
			e := entry{Text: th.name, Current: slices.Contains(th.pages, p)}
			if len(p.Section.Pages) > maxSide && !e.Current && th.name != "" { // the list of the section has its pages
				continue
			}
			for _, x := range th.pages {
				e.Inner = append(e.Inner, *to(x))
			}
			v.Side = append(v.Side, e)
		}
	}
	var b bytes.Buffer
	err = layout.Execute(&b, v)
	return b.Bytes(), err
}

// assets returns the style sheet, the script and the icon.
func (s *site) assets() (map[string][]byte, error) {
	web := os.DirFS(filepath.Join(s.root, "web"))
	files := map[string][]byte{}
	var style bytes.Buffer
	for _, name := range []string{"style.css", "site/site.css"} {
		text, err := fs.ReadFile(web, name)
		if err != nil {
			return nil, err
		}
		style.Write(text)
	}
	script, err := fs.ReadFile(web, "site/site.js")
	if err != nil {
		return nil, err
	}
	words, err := json.Marshal(strings.Join(stopWords, " "))
	if err != nil {
		return nil, err
	}
	if files["assets/icon.svg"], err = fs.ReadFile(web, "site/icon.svg"); err != nil {
		return nil, err
	}
	script = bytes.ReplaceAll(script, []byte(`"STOP_WORDS"`), words)
	if files["assets/site.js"], err = minify(string(script), api.LoaderJS); err != nil {
		return nil, err
	}
	files["assets/style.css"], err = minify(string(elementsOf(style.Bytes())), api.LoaderCSS)
	return files, err
}

// minify returns a script or a style sheet without comments and spaces.
func minify(text string, loader api.Loader) ([]byte, error) {
	r := api.Transform(text, api.TransformOptions{Loader: loader, MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, Charset: api.CharsetUTF8})
	if len(r.Errors) > 0 {
		return nil, fmt.Errorf("line %d: %s", r.Errors[0].Location.Line, r.Errors[0].Text)
	}
	return r.Code, nil
}

// parts matches the rules in web/style.css for components that the site does not have.
var parts = regexp.MustCompile(`(?s)/\* the sixteen colours of terminals.*?/\* site \*/`)

// elementsOf returns the style sheet without the rules of components.
func elementsOf(style []byte) []byte { return parts.ReplaceAll(style, []byte("/* site */")) }
