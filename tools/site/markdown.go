package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	ghtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is a heading of a page.
type heading struct {
	Level int
	ID    string
	Text  string
}

// document is a page's text as HTML, with its headings.
type document struct {
	HTML     string
	Headings []heading
}

// convert returns the text of a page as HTML.
func (s *site) convert(p *page) (document, error) {
	src := []byte(p.Text)
	blocks := blocksOf(p.Text)
	w := &writer{site: s, page: p, blocks: map[int]*block{}, ids: map[*block]string{}, samples: samplesOf(p, blocks)}
	for i, b := range blocks {
		w.blocks[b.Start] = b
		w.ids[b] = fmt.Sprintf("b%d", i+1)
	}
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(ghtml.WithXHTML(), ghtml.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(w, 1))),
	)
	tree := md.Parser().Parse(text.NewReader(src), parser.WithContext(parser.NewContext()))
	if err := w.prepare(tree, src); err != nil {
		return document{}, err
	}
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, src, tree); err != nil {
		return document{}, err
	}
	return document{HTML: out.String(), Headings: w.headings}, nil
}

// writer writes the elements of a page that differ from those of plain Markdown.
type writer struct {
	site     *site
	page     *page
	blocks   map[int]*block // by offset
	ids      map[*block]string
	samples  map[*block]*sample
	headings []heading
}

// prepare sets the identifiers of headings and the destinations of links.
func (w *writer) prepare(tree ast.Node, src []byte) error {
	used := map[string]int{}
	var above []int // levels in the text of the headings that enclose the current place
	return ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			words := plain(n, src)
			id := slug(words)
			if used[id]++; used[id] > 1 {
				id = fmt.Sprintf("%s-%d", id, used[id]-1)
			}
			n.SetAttributeString("id", []byte(id))
			for len(above) > 0 && above[len(above)-1] >= n.Level {
				above = above[:len(above)-1]
			}
			above = append(above, n.Level)
			n.Level = len(above) // no level is omitted
			w.headings = append(w.headings, heading{n.Level, id, words})
		case *ast.Link:
			n.Destination = []byte(w.site.link(w.page, string(n.Destination), ".html"))
		case *ast.Image:
			n.Destination = []byte(w.site.link(w.page, string(n.Destination), ".html"))
		}
		return ast.WalkContinue, nil
	})
}

// plain returns the text of a node.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(util.UnescapePunctuations(c.Segment.Value(src)))
		case *ast.String:
			b.Write(c.Value)
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				s := c.Segments.At(i)
				b.Write(s.Value(src))
			}
		default:
			b.WriteString(plain(c, src))
		}
	}
	return b.String()
}

// slug returns the identifier of a heading, as GitHub builds it, so that the links between the
// documents of the repository are also valid here.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', r == '-':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// RegisterFuncs registers the functions that write elements.
func (w *writer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, w.heading)
	reg.Register(ast.KindFencedCodeBlock, w.code)
	reg.Register(ast.KindCodeBlock, w.code)
	reg.Register(ast.KindHTMLBlock, skip)
	reg.Register(ast.KindRawHTML, rawText)
	reg.Register(east.KindTable, w.table)
	reg.Register(east.KindTableCell, cell)
}

// skip omits HTML, which in the documents of the repository are comments.
func skip(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// rawText writes what Markdown reads as an HTML element, such as the type in Array<String>, as
// text.
func rawText(out util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if segments := n.(*ast.RawHTML).Segments; entering {
		for i := range segments.Len() {
			s := segments.At(i)
			if text := string(s.Value(src)); !strings.HasPrefix(text, "<!--") {
				out.WriteString(escaper.Replace(text))
			}
		}
	}
	return ast.WalkSkipChildren, nil
}

func (w *writer) heading(out util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	id, _ := h.AttributeString("id")
	if entering {
		fmt.Fprintf(out, `<h%d id="%s">`, h.Level, id)
	} else {
		fmt.Fprintf(out, "</h%d>\n", h.Level)
	}
	return ast.WalkContinue, nil
}

// table encloses a table in an element that scrolls.
func (w *writer) table(out util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		out.WriteString("<div class=\"table\"><table>\n")
	} else {
		out.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// cell writes a cell of a table. An empty cell of the first row is no heading.
func cell(out util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == east.KindTableHeader && n.HasChildren() {
		tag = "th"
	}
	if entering {
		fmt.Fprintf(out, "<%s>", tag)
	} else {
		fmt.Fprintf(out, "</%s>\n", tag)
	}
	return ast.WalkContinue, nil
}

// longLine is the length of lines from which a block scrolls and therefore needs the focus.
const longLine = 78

// code writes a block of code, with its sample and its fix.
func (w *writer) code(out util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var content bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		content.Write(line.Value(src))
	}
	var b *block
	if n.Lines().Len() > 0 {
		b = w.blocks[n.Lines().At(0).Start]
	}
	if b == nil {
		b = &block{Text: content.String()}
		if f, ok := n.(*ast.FencedCodeBlock); ok && f.Info != nil {
			b.Word, _, _ = strings.Cut(string(f.Info.Segment.Value(src)), " ")
		}
	}
	w.block(out, b)
	return ast.WalkSkipChildren, nil
}

// captions are the captions of blocks that are no files.
var captions = map[string]string{"output": "Output", "diagnostics": "Message", "stderr": "Standard error", "console": "Terminal"}

func (w *writer) block(out util.BufWriter, b *block) {
	language := b.Word
	if language == "" && w.page.library {
		language = "concerto"
	}
	x := w.samples[b]
	if x != nil {
		w.openSample(out, x)
	}
	caption := b.File()
	if caption == "" {
		caption = captions[b.Word]
	}
	if b.Word == "toml" && caption == "" {
		caption = "Concerto.toml"
	}
	isCode := caption == "" || caption != captions[b.Word] || b.Word == "console"
	isFolded := w.page == w.site.home && x == nil && w.idOf(b) != ""
	switch {
	case isFolded: // the page shows the program first
		fmt.Fprintf(out, `<details class="folded"><summary>%s</summary>`, html.EscapeString(caption))
	case caption != "":
		fmt.Fprintf(out, `<p class="caption">%s</p>`, html.EscapeString(caption))
	}
	word := ""
	if isCode {
		word = attribute("data-word", cmp.Or(b.Word, "text"))
	}
	fmt.Fprintf(out, "<pre%s%s%s><code>%s</code></pre>\n", attribute("id", w.idOf(b)), word, scrolls(b.Text), highlight(language, b.Text))
	if isFolded {
		fmt.Fprint(out, "</details>\n")
	}
	if fixed, ok := w.page.fixes[b.Text]; ok && fixed != b.Text {
		fmt.Fprintf(out, `<div class="fix"><pre hidden=""%s><code>%s</code></pre><button type="button" data-testid="apply-fix" hidden="">Apply the fix</button></div>`+"\n", scrolls(fixed), highlight(language, fixed))
	}
	if x != nil {
		closeSample(out)
	}
}

// idOf returns the identifier of a block that a sample needs, or "".
func (w *writer) idOf(b *block) string {
	for _, x := range w.samples {
		for _, f := range x.Files {
			if f == b {
				return w.ids[b]
			}
		}
	}
	return ""
}

func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(` %s="%s"`, name, html.EscapeString(value))
}

// scrolls returns the attribute of a block that users of keyboards must be able to scroll.
func scrolls(text string) string {
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(line) > longLine {
			return ` tabindex="0"`
		}
	}
	return ""
}

// openSample writes the start of a sample. Its files are the blocks with the identifiers in
// data-files.
func (w *writer) openSample(out util.BufWriter, x *sample) {
	ids := map[string]string{}
	for name, b := range x.Files {
		ids[name] = w.ids[b]
	}
	files, err := json.Marshal(ids)
	if err != nil {
		panic(err) // a map of strings
	}
	fragment := ""
	if x.Fragment {
		fragment = ` data-fragment=""`
	}
	fmt.Fprintf(out, `<div class="sample" data-testid="sample" data-main="%s" data-files="%s"%s>`+"\n", html.EscapeString(x.Main), html.EscapeString(string(files)), fragment)
}

// closeSample writes the buttons of a sample and the place of its output.
func closeSample(out util.BufWriter) {
	fmt.Fprintf(out, `<div class="do"><button type="button" data-testid="run-sample" hidden="">Run</button><span class="state" role="status"></span><span class="state" data-testid="loaded"></span></div><div class="questions"></div>`+"\n"+
		`<pre data-testid="sample-output" tabindex="0" hidden=""></pre><pre data-testid="sample-errors" tabindex="0" hidden=""></pre>`+"\n</div>\n")
}

// word matches the words of a text for the search.
var word = regexp.MustCompile(`[\p{L}\p{N}_]+(?:(?:::|[.-])[\p{L}\p{N}_]+)*`)

// base returns the last element of a page's path.
func base(p *page) string { return path.Base(p.Path) }
