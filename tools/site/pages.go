package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// page is a page of the site.
type page struct {
	Path    string // without extension, such as "guide/02-agent"
	Title   string // heading of the page
	Source  string // path in the repository of the text, or "" if the text is generated
	Text    string // Markdown
	Section *section
	Prev    *page
	Next    *page

	walk    bool              // all blocks of the page use one directory
	library bool              // blocks without a language are Concerto
	fixes   map[string]string // fixed programs, by wrong program
}

// section is a part of the site with pages in an order.
type section struct {
	Name  string // directory
	Title string
	About string // one sentence for llms.txt
	Pages []*page
}

// site is all pages with their places in the repository.
type site struct {
	root     string
	version  string
	home     *page
	sections []*section
	byPath   map[string]*page
	bySource map[string]*page // by path in the repository
	themes   map[*section][]theme
	copied   map[string]string // files of the repository that pages link to, by their path in the site
}

// title matches the first heading of a text.
var title = regexp.MustCompile(`(?m)^# (.+)\n`)

// read reads all pages from the repository.
func read(root, version string) (*site, error) {
	s := &site{root: root, version: version, byPath: map[string]*page{}, bySource: map[string]*page{}, themes: map[*section][]theme{}, copied: map[string]string{}}
	var err error
	if s.home, err = s.open(&section{}, "index", "web/site/index.md"); err != nil {
		return nil, err
	}
	for _, read := range []func() (*section, error){s.readGuide, s.readManual, s.readLibrary, s.readDiagnostics, s.readExamples, s.readCookbook, s.readMore} {
		sec, err := read()
		if err != nil {
			return nil, err
		}
		for i, p := range sec.Pages {
			if i > 0 {
				p.Prev, sec.Pages[i-1].Next = sec.Pages[i-1], p
			}
		}
		s.sections = append(s.sections, sec)
	}
	s.home.Section = s.sections[0]
	return s, nil
}

// open adds a page whose text is a file of the repository.
func (s *site) open(sec *section, at, source string) (*page, error) {
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source)))
	if err != nil {
		return nil, err
	}
	return s.add(sec, &page{Path: at, Source: source, Text: string(text)})
}

// add adds a page to a section.
func (s *site) add(sec *section, p *page) (*page, error) {
	m := title.FindStringSubmatch(p.Text)
	if m == nil {
		return nil, fmt.Errorf("%s has no heading", p.Path)
	}
	if s.byPath[p.Path] != nil {
		return nil, fmt.Errorf("there are two pages %s", p.Path)
	}
	p.Title, p.Section = plainText(m[1]), sec
	s.byPath[p.Path] = p
	if p.Source != "" {
		s.bySource[p.Source] = p
	}
	sec.Pages = append(sec.Pages, p)
	return p, nil
}

// openAll adds the pages of the files that match a pattern of the repository, sorted by name.
func (s *site) openAll(sec *section, pattern string, walk bool, omitted ...string) error {
	files, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(pattern)))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if slices.Contains(omitted, name) {
			continue
		}
		p, err := s.open(sec, sec.Name+"/"+name, path.Join(path.Dir(pattern), name+".md"))
		if err != nil {
			return err
		}
		p.walk = walk
	}
	return nil
}

func (s *site) readGuide() (*section, error) {
	sec := &section{Name: "guide", Title: "Guide", About: "Eleven short pages that teach Concerto, in the order of need."}
	if _, err := s.open(sec, "guide/index", "docs/guide/README.md"); err != nil {
		return nil, err
	}
	return sec, s.openAll(sec, "docs/guide/*.md", true, "README")
}

func (s *site) readManual() (*section, error) {
	sec := &section{Name: "manual", Title: "Manual", About: "The reference of the language, the command and the protocols."}
	if _, err := s.open(sec, "manual/index", "spec/README.md"); err != nil {
		return nil, err
	}
	return sec, s.openAll(sec, "spec/*.md", false, "README", "diagnostics")
}

func (s *site) readLibrary() (*section, error) {
	sec := &section{Name: "std", Title: "Library", About: "Every function, method and type of the library."}
	pages := &section{Name: "std"}
	if err := s.openAll(pages, "spec/std/*.md", false); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("# The library\n\nEvery module of the library, with its functions, methods and types. `concerto doc NAME` shows\nthe same texts in the terminal.\n\n| module | content |\n| --- | --- |\n")
	for _, p := range pages.Pages {
		p.library = true
		p.Text = strings.Replace(p.Text, "This page is generated from the library's source.\n\n", "", 1)
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", p.Title, path.Base(p.Path), strings.ReplaceAll(summary(p.Text), "|", `\|`))
	}
	if _, err := s.add(sec, &page{Path: "std/index", Text: b.String()}); err != nil {
		return nil, err
	}
	for _, p := range pages.Pages {
		p.Section = sec
	}
	sec.Pages = append(sec.Pages, pages.Pages...)
	return sec, nil
}

func (s *site) readCookbook() (*section, error) {
	sec := &section{Name: "cookbook", Title: "Cookbook", About: "Complete programs for common tasks."}
	if _, err := s.open(sec, "cookbook/index", "docs/cookbook/README.md"); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(s.root, "docs", "cookbook", "*", "README.md"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		p, err := s.open(sec, "cookbook/"+name, "docs/cookbook/"+name+"/README.md")
		if err != nil {
			return nil, err
		}
		p.walk = true
	}
	return sec, nil
}

// more lists further documents to which the pages link.
var more = []string{"docs/glossary.md", "sdk/README.md", "docs/otel-approvals.md", "docs/threat-model.md", "docs/annoyances.md"}

func (s *site) readMore() (*section, error) {
	sec := &section{Name: "more", Title: "More", About: "Terms, SDKs, security and known weaknesses."}
	for _, source := range more {
		name := strings.TrimSuffix(path.Base(source), ".md")
		if name == "README" {
			name = path.Base(path.Dir(source))
		}
		if _, err := s.open(sec, "more/"+name, source); err != nil {
			return nil, err
		}
	}
	return sec, nil
}

// noPlayground returns the page that replaces a playground that was not built.
func (s *site) noPlayground() *page {
	return &page{Path: "playground/index", Title: "Playground", Section: s.sections[0], Text: "# Playground\n\nThis build of the site has no playground. `make site` includes it after `make playground`, and\n`concerto playground` serves the one of an installed release.\n"}
}

// files returns the files of the site, without the playground.
func (s *site) files() (map[string][]byte, error) {
	files, err := s.assets()
	if err != nil {
		return nil, err
	}
	for _, p := range s.pages() {
		html, err := s.render(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		files[p.Path+".html"] = html
		files[p.Path+".md"] = []byte(s.markdown(p))
	}
	files["llms.txt"] = []byte(s.llms())
	files["llms-full.txt"] = []byte(s.llmsFull())
	if files["assets/search-index.js"], files["assets/search-texts.js"], err = s.searchIndex(); err != nil {
		return nil, err
	}
	for at, source := range s.copied {
		if files[at], err = os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source))); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// pages returns all pages, the first page of the site first.
func (s *site) pages() []*page {
	all := []*page{s.home}
	for _, sec := range s.sections {
		all = append(all, sec.Pages...)
	}
	return all
}

// summary returns the first sentence of a page, without markup.
func summary(text string) string {
	for _, paragraph := range strings.Split(text, "\n\n") {
		p := strings.Join(strings.Fields(paragraph), " ")
		if p == "" || strings.HasPrefix(p, "#") || strings.HasPrefix(p, "<!--") || strings.HasPrefix(p, "This page is generated") || strings.HasPrefix(p, "```") || strings.HasPrefix(p, "|") {
			continue
		}
		if i := strings.Index(p, ". "); i > 0 {
			p = p[:i+1]
		}
		return plainText(p)
	}
	return ""
}

// markup matches links and marks in a line of Markdown.
var markup = regexp.MustCompile("\\[([^]]*)\\]\\([^)]*\\)|[`*]")

// plainText returns a line of Markdown without its markup.
func plainText(line string) string { return markup.ReplaceAllString(line, "$1") }
