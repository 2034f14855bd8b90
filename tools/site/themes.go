package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// theme is a group of pages of a section. The first theme of a section has no name and contains the
// list of the section, and the pages that the list does not name.
type theme struct {
	name  string
	pages []*page
	about []string // descriptions of the pages in the list
}

// listed matches a heading in the list of a section, or a page and its description: a row of a
// table or an item.
var listed = regexp.MustCompile(`(?m)^## (.+)$|^(?:\| |\d+\. )\[[^]]*\]\(([^)]+)\)(?: \| |: )([^|\n]+)|^\| \x60([\w-]+)/\x60 \| ([^|\n]+)`)

// themesOf returns the themes of a section, which are the headings of its list.
func (s *site) themesOf(sec *section) []theme {
	if all, ok := s.themes[sec]; ok {
		return all
	}
	list := sec.Pages[0]
	all := []theme{{}}
	named := []*page{}
	for _, m := range listed.FindAllStringSubmatch(list.Text, -1) {
		if m[1] != "" {
			all = append(all, theme{name: plainText(m[1])})
			continue
		}
		at := sec.Name + "/" + m[4]
		if m[2] != "" {
			at = strings.TrimSuffix(path.Join(path.Dir(list.Path), s.link(list, m[2], ".html")), ".html")
		}
		if p := s.byPath[at]; p != nil && p.Section == sec && !slices.Contains(named, p) {
			named = append(named, p)
			last := &all[len(all)-1]
			last.pages, last.about = append(last.pages, p), append(last.about, plainText(m[3]+m[5]))
		}
	}
	rest := slices.DeleteFunc(slices.Clone(sec.Pages), func(p *page) bool { return slices.Contains(named, p) })
	all[0].pages, all[0].about = append(rest, all[0].pages...), append(make([]string, len(rest)), all[0].about...)
	all = slices.DeleteFunc(all, func(t theme) bool { return len(t.pages) == 0 })
	s.themes[sec] = all
	return all
}

// described returns the description of a page in the list of its section.
func (s *site) described(p *page) string {
	for _, t := range s.themesOf(p.Section) {
		if i := slices.Index(t.pages, p); i >= 0 {
			return t.about[i]
		}
	}
	return ""
}
