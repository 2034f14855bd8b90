package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// link returns the destination of a link of a page, relative to that page. extension is that of the
// pages to link to, ".html" or ".md". A link to a file of the repository that is no page leads to a
// copy of the file.
func (s *site) link(p *page, to, extension string) string {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "mailto:") {
		return to
	}
	to, anchor, hasAnchor := strings.Cut(to, "#")
	if hasAnchor {
		anchor = "#" + anchor
	}
	if p.Source == "" { // the text is generated, and its links are those of the site
		return strings.TrimSuffix(to, ".md") + extension + anchor
	}
	source := path.Join(path.Dir(p.Source), to)
	if code, found := strings.CutPrefix(strings.ToUpper(anchor), "#"); found && source == "spec/diagnostics.md" && len(code) > 5 && s.byPath["diagnostics/"+code[:5]] != nil {
		return relative(p.Path, "diagnostics/"+code[:5]+extension)
	}
	if target := s.target(source); target != "" {
		return relative(p.Path, target+extension) + anchor
	}
	at := "files/" + source
	if info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(source))); err != nil || info.IsDir() {
		return relative(p.Path, "index"+extension)
	}
	s.copied[at] = source
	return relative(p.Path, at)
}

// target returns the page for a path of the repository, or "".
func (s *site) target(source string) string {
	if p := s.bySource[source]; p != nil {
		return p.Path
	}
	if p := s.bySource[path.Join(source, "README.md")]; p != nil {
		return p.Path
	}
	switch source {
	case "spec/diagnostics.md":
		return "diagnostics/index"
	case "spec/std":
		return "std/index"
	case "docs/README.md", "README.md", "docs":
		return "index"
	}
	if name, found := strings.CutPrefix(source, "examples/"); found {
		if name = "examples/" + strings.TrimSuffix(name, "/README.md"); s.byPath[name] != nil {
			return name
		}
	}
	return ""
}

// relative returns the relative link from one path of the site to another.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	if dir := path.Dir(from) + "/"; up == "../" && strings.HasPrefix(to, dir) {
		return to[len(dir):]
	}
	return up + to
}

// destination matches the destination of a link in Markdown.
var destination = regexp.MustCompile(`(\]\()([^)\s]+)(\))`)

// markdown returns the text of a page with links to the Markdown of the other pages.
func (s *site) markdown(p *page) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(p.Text) {
		l := strings.TrimRight(line, "\r\n")
		switch {
		case fence == "" && strings.HasPrefix(l, "```"):
			fence = l[:len(l)-len(strings.TrimLeft(l, "`"))]
		case fence != "" && l == fence:
			fence = ""
		case fence == "":
			line = destination.ReplaceAllStringFunc(line, func(m string) string {
				part := destination.FindStringSubmatch(m)
				return part[1] + s.link(p, part[2], ".md") + part[3]
			})
		}
		b.WriteString(line)
	}
	return b.String()
}
