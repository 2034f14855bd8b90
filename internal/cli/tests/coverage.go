package tests

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/vm"
)

// coverage contains the lines and listen handlers that the tests executed. The lines of the tests
// themselves do not count.
type coverage struct {
	Lines    int            `json:"lines"`
	Covered  int            `json:"covered"`
	Handlers []handlerCover `json:"handlers"`
	Files    []*fileCover   `json:"files"`
}

type fileCover struct {
	File    string `json:"file"`
	Lines   int    `json:"lines"`
	Covered int    `json:"covered"`
	Missed  []int  `json:"missed"` // line numbers, ascending

	text string
	hit  map[int]bool
}

// handlerCover is a listen handler. Line is the number of the handler's first line.
type handlerCover struct {
	Function string `json:"function"`
	Type     string `json:"type"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Covered  bool   `json:"covered"`
}

// summarize returns the coverage of a program. Each of the points records whether the tests reached
// it.
func summarize(p *engine.Program, points []vm.Point) *coverage {
	c := &coverage{Handlers: []handlerCover{}, Files: []*fileCover{}}
	skip := testLines(p, points)
	files := map[string]*fileCover{}
	for _, point := range points {
		if skip(point) {
			continue
		}
		if point.Handler != "" {
			c.Handlers = append(c.Handlers, handlerCover{point.Function, point.Handler, point.File, point.Line, point.Hit})
			continue
		}
		f := files[point.File]
		if f == nil {
			f = &fileCover{File: point.File, text: p.Text(point.File), hit: map[int]bool{}, Missed: []int{}}
			files[point.File] = f
			c.Files = append(c.Files, f)
		}
		if !f.onlyCloses(point.Line) {
			f.hit[point.Line] = f.hit[point.Line] || point.Hit
		}
	}
	for _, f := range c.Files {
		for line, hit := range f.hit {
			f.Lines++
			if hit {
				f.Covered++
			} else {
				f.Missed = append(f.Missed, line)
			}
		}
		slices.Sort(f.Missed)
		c.Lines += f.Lines
		c.Covered += f.Covered
	}
	return c
}

// testLines returns a function that reports whether a point is inside a test function.
func testLines(p *engine.Program, points []vm.Point) func(vm.Point) bool {
	type span struct{ from, to int }
	spans := map[string][]span{}
	for _, t := range p.Tests() {
		s := span{t.Line, t.Line}
		for _, x := range points {
			if x.File == t.File && x.Function == t.Function {
				s.from, s.to = min(s.from, x.Line), max(s.to, x.Line)
			}
		}
		spans[t.File] = append(spans[t.File], s)
	}
	return func(x vm.Point) bool {
		for _, s := range spans[x.File] {
			if s.from <= x.Line && x.Line <= s.to {
				return true
			}
		}
		return false
	}
}

// onlyCloses reports whether a line contains only closing brackets.
func (f *fileCover) onlyCloses(line int) bool {
	return strings.Trim(f.line(line), " \t\r})];,") == ""
}

func (f *fileCover) line(n int) string {
	lines := strings.Split(f.text, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

func percent(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// writeText writes the coverage report as text.
func (c *coverage) writeText(w io.Writer) {
	ran := 0
	for _, h := range c.Handlers {
		if h.Covered {
			ran++
		}
	}
	fmt.Fprintf(w, "\ncoverage: %s of %d lines", percent(c.Covered, c.Lines), c.Lines)
	if len(c.Handlers) > 0 {
		fmt.Fprintf(w, ", %d of %d handlers", ran, len(c.Handlers))
	}
	fmt.Fprintln(w)
	width := 0
	for _, f := range c.Files {
		width = max(width, len(f.File))
	}
	for _, f := range c.Files {
		fmt.Fprintf(w, "  %-*s  %6s", width, f.File, percent(f.Covered, f.Lines))
		if len(f.Missed) > 0 {
			fmt.Fprintf(w, "  missed %s", ranges(f.Missed))
		}
		fmt.Fprintln(w)
	}
	for _, h := range c.Handlers {
		if !h.Covered {
			fmt.Fprintf(w, "  handler %q of %s (%s:%d) never ran\n", h.Type, h.Function, h.File, h.Line)
		}
	}
}

// ranges formats ascending numbers and joins consecutive ones: "7, 9-10".
func ranges(ns []int) string {
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(ns[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ns[i], ns[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

const pageHead = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>coverage</title>
<style>
body { font: 14px/1.4 sans-serif; margin: 2em }
pre { font: 13px/1.4 monospace; border: 1px solid #ccc; padding: .5em; overflow-x: auto }
.hit { background: #d9f2d9 } .miss { background: #f8d0d0 } .n { color: #888 }
</style>
`

// page returns the coverage as a self-contained HTML page.
func (c *coverage) page() []byte {
	var b bytes.Buffer
	b.WriteString(pageHead)
	fmt.Fprintf(&b, "<h1>Coverage: %s of %d lines</h1>\n", percent(c.Covered, c.Lines), c.Lines)
	if len(c.Handlers) > 0 {
		b.WriteString("<table>\n")
		for _, h := range c.Handlers {
			class, state := "miss", "never ran"
			if h.Covered {
				class, state = "hit", "ran"
			}
			fmt.Fprintf(&b, "<tr class=%q><td>handler %s of %s</td><td>%s:%d</td><td>%s</td></tr>\n", class,
				html.EscapeString(fmt.Sprintf("%q", h.Type)), html.EscapeString(h.Function), html.EscapeString(h.File), h.Line, state)
		}
		b.WriteString("</table>\n")
	}
	for _, f := range c.Files {
		fmt.Fprintf(&b, "<h2>%s: %s</h2>\n<pre>", html.EscapeString(f.File), percent(f.Covered, f.Lines))
		for i, line := range strings.Split(strings.TrimSuffix(f.text, "\n"), "\n") {
			class := ""
			if hit, counts := f.hit[i+1]; counts {
				class = map[bool]string{true: "hit", false: "miss"}[hit]
			}
			fmt.Fprintf(&b, "<span class=\"n\">%5d</span> <span class=%q>%s</span>\n", i+1, class, html.EscapeString(strings.TrimSuffix(line, "\r")))
		}
		b.WriteString("</pre>\n")
	}
	return b.Bytes()
}
