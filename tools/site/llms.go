package main

import (
	"fmt"
	"strings"
)

// llms returns llms.txt: the pages with their addresses, in the form of llmstxt.org.
func (s *site) llms() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Concerto\n\n> %s\n\nVersion %s. Each page is also available as HTML, at the same address with `.html`. All pages are in [llms-full.txt](llms-full.txt).\n", summary(s.home.Text), s.version)
	for _, sec := range s.sections {
		switch sec.Name {
		case "cookbook": // llmstxt.org: what a short context may omit
			b.WriteString("\n## Optional\n\nComplete programs for common tasks, terms, SDKs and security.\n\n")
		case "more":
		default:
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", sec.Title, sec.About)
		}
		if sec.Name == "diagnostics" {
			fmt.Fprintf(&b, "- [%s](diagnostics/index.md): all codes; the page of one is diagnostics/CODE.md\n", sec.Pages[0].Title)
			continue
		}
		for _, p := range sec.Pages {
			fmt.Fprintf(&b, "- [%s](%s.md)%s\n", p.Title, p.Path, s.about(p))
		}
	}
	return b.String()
}

// maxAbout is the maximum length of a page's description in llms.txt.
const maxAbout = 90

// about returns a short description of a page, or "". It is that of the list of its section, or the
// first sentence of the page.
func (s *site) about(p *page) string {
	text := strings.TrimSpace(s.described(p))
	if text == "" {
		text = summary(p.Text)
	}
	if text == "" || len(text) > maxAbout {
		return ""
	}
	return ": " + strings.TrimSuffix(text, ".")
}

// llmsFull returns llms-full.txt: the texts of all pages.
func (s *site) llmsFull() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Concerto %s: all pages of the documentation.\n", s.version)
	for _, p := range s.pages() {
		fmt.Fprintf(&b, "\n---\n\n<!-- %s.md -->\n\n%s", p.Path, p.Text)
	}
	return b.String()
}
