// Package page writes the report of a run as a page in one file (spec/39-report.md).
package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/web/onepage"
)

// shownRows is the number of decisions, of errors, of tests and of rows of a table of totals that
// the page shows as HTML. Its data contains all of them.
const shownRows = 200

// section is a section of the page. A script shows it if write is nil.
type section struct {
	id, title string
	write     func(*writer)
}

// sections returns the sections of the page of a report.
func (p *writer) sections() []section {
	all := []section{
		{"summary", "Summary", (*writer).summary}, {"fleet", "Fleet", (*writer).fleet}, {"tests", "Tests", (*writer).tests}, {"timeline", "Timeline", (*writer).timeline}, {"conversation", "Conversation", nil},
		{"decisions", "Decisions", (*writer).decisions}, {"output", "Output", nil}, {"errors", "Errors", (*writer).errors}, {"usage", "Usage", (*writer).usage},
		{"source", "Source", nil}, {"program", "Program", (*writer).program},
	}
	return slices.DeleteFunc(all, func(s section) bool {
		return s.id == "tests" && len(p.r.Tests) == 0 || s.id == "fleet" && p.r.Fleet == nil
	})
}

// Write writes the page of a report. The summary, decisions, errors and usage are HTML, which
// a browser shows without scripts.
func Write(w io.Writer, r *report.Report) error {
	var data bytes.Buffer
	if err := r.WriteJSON(&data); err != nil {
		return err
	}
	p := writer{r: r, views: views(r)}
	p.write()
	all, err := json.Marshal(p.views)
	if err != nil {
		return err
	}
	page := onepage.Page{
		Title:  p.title(),
		Styles: []string{onepage.Asset("graph", "style.css"), onepage.Asset("report", "onepage/report.css"), graph.Style},
		Script: onepage.Asset("report", "onepage/report.js"),
		Body:   p.String(),
		Data:   slices.Concat([]byte(`{"views":`), all, []byte{','}, data.Bytes()[1:]), // a report is an object
	}
	return page.Write(w)
}

// writer writes the HTML of a report.
type writer struct {
	strings.Builder
	r     *report.Report
	views map[int]*view
}

// add writes HTML. Arguments are texts, and are escaped.
func (p *writer) add(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = escape(s)
		}
	}
	fmt.Fprintf(p, format, args...)
}

// escape returns a text as HTML. Control characters and characters that change the direction of
// text are visible.
func escape(text string) string { return html.EscapeString(terminal.Escape(text)) }

// title returns the name of the project with the first words of the run's task: its first argument
// that is no flag, or its first prompt.
func (p *writer) title() string {
	name, task := cmp.Or(p.r.Run.Project, p.r.Run.Program, "A run"), ""
	for _, arg := range p.r.Run.Args {
		if task == "" && !strings.HasPrefix(arg, "-") {
			task = arg
		}
	}
	for _, x := range p.r.Items {
		if task == "" && x.Texts.Prompt != nil {
			_ = json.Unmarshal(x.Texts.Prompt, &task) // a prompt of another form names no task
		}
	}
	if task = firstWords(task); task == "" {
		return name
	}
	return name + ": " + task
}

// maxTask is the maximum number of characters of the task in the title.
const maxTask = 60

// firstWords returns the words at the beginning of a text.
func firstWords(text string) string {
	out, n := "", 0
	for _, word := range strings.Fields(text) {
		if n += utf8.RuneCountInString(word) + 1; n > maxTask && out != "" {
			return out + " …"
		}
		out = strings.TrimSpace(out + " " + word)
	}
	return out
}

func (p *writer) write() {
	p.add(`<a class="skip" href="#summary">Skip to the summary</a>
<header>
<h1>%s</h1>
<nav aria-label="Sections">`, p.title())
	for _, s := range p.sections() {
		p.add(`<a href="#%s">%s</a> `, s.id, s.title)
	}
	p.add("</nav>\n</header>\n<main>\n")
	for _, s := range p.sections() {
		p.add("<section id=\"%s\" aria-labelledby=\"%s-heading\">\n<h2 id=\"%s-heading\">%s</h2>\n", s.id, s.id, s.id, s.title)
		if s.write != nil {
			s.write(p)
		} else {
			p.add("<div class=\"body\"></div><noscript><p>A script shows this section.</p></noscript>\n")
		}
		p.add("</section>\n")
	}
	p.add("</main>")
}

// moment returns a time in UTC as an element. A script adds the reader's local time.
func moment(rfc3339 string) string {
	t, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		return escape(rfc3339)
	}
	return fmt.Sprintf("<time datetime=%q>%s UTC</time>", t.UTC().Format(time.RFC3339), t.UTC().Format("2006-01-02 15:04:05"))
}

func seconds(s float64) string { return fmt.Sprintf("%.3f s", s) }

func (p *writer) summary() {
	run := &p.r.Run
	for _, g := range p.r.Gaps {
		p.add("<p class=\"gap\">Note: %s</p>\n", g)
	}
	p.band()
	p.add("<dl>")
	row := func(name, value string) {
		if value != "" {
			p.add("<dt>%s</dt><dd>", name)
			p.WriteString(value + "</dd>\n")
		}
	}
	text := func(name, value string) { row(name, escape(value)) }
	text("Program", run.Program)
	if run.Exit != nil {
		text("Exit code", fmt.Sprint(*run.Exit))
	}
	if run.Started != nil {
		row("Started", moment(*run.Started))
	}
	if run.Ended != nil {
		row("Ended", moment(*run.Ended))
	}
	text("Run", run.ID)
	if all := &p.r.Totals.All; all.Calls > 0 {
		text("Calls of models", fmt.Sprintf("%d, %d failed", all.Calls, all.Failed))
	}
	if used := &p.r.Totals.Used; used.TokensIn+used.TokensOut > 0 {
		text("Tokens", fmt.Sprintf("%d in, %d out", used.TokensIn, used.TokensOut)+estimated(used))
	}
	text("Items", fmt.Sprint(len(p.r.Items)))
	text("Decisions", fmt.Sprint(len(p.r.Decisions)))
	text("Arguments", strings.Join(run.Args, " "))
	if s := string(run.Inputs); s != "null" {
		text("Input", s)
	}
	text("Environment variables", strings.Join(run.Env, ", "))
	text("Options", strings.Join(run.Flags, " "))
	text("Version", run.Version)
	text("Engine", run.Engine)
	text("Built from", run.Source)
	p.add("</dl>\n")
}

// tone returns the class of a state or a status, which sets its color.
func tone(state string) string {
	switch state {
	case "finished", report.OK:
		return "good"
	case "failed", "damaged", report.Killed, report.Unknown:
		return "bad"
	}
	return "warn"
}

func estimated(t *report.Total) string {
	if t.Estimated {
		return " (estimated)"
	}
	return ""
}

func cost(t *report.Total) string {
	if string(t.Cost) == "null" {
		return "unknown: a price is missing"
	}
	return "$" + string(t.Cost)
}

func (p *writer) tests() {
	for i, t := range p.r.Tests[:min(len(p.r.Tests), shownRows)] {
		x := p.r.Items[t.Item-1]
		p.add("<section id=\"test-%d\" aria-labelledby=\"test-%d-heading\"><h3 id=\"test-%d-heading\">%s</h3>\n<p><span class=\"chip %s\">%s</span> ", i+1, i+1, i+1, t.Name, tone(x.Status), x.Status)
		if x.Start != nil && x.End != nil {
			p.add("%s, ", seconds(*x.End-*x.Start))
		}
		p.add("<a href=\"#item-%d\">item %d</a> %s</p></section>\n", x.N, x.N, x.Error)
	}
	p.others(len(p.r.Tests))
}

// others states how many rows are not shown.
func (p *writer) others(n int) {
	if n > shownRows {
		p.add("<p class=\"others\">and %d more; the timeline lists all items</p>\n", n-shownRows)
	}
}

// timeline writes what the script fills.
func (p *writer) timeline() {
	p.add(`<p class="tools"><label>Search <input id="search" type="search" autocomplete="off" aria-describedby="search-help"></label>
<output id="found" for="search"></output>
<button type="button" id="in" aria-label="Zoom in">+</button> <button type="button" id="out" aria-label="Zoom out">−</button> <button type="button" id="whole">Show all</button></p>
<p id="search-help" class="help">Words find texts; <code>kind:approval</code>, <code>status:failed</code>, <code>agent:NAME</code> and <code>host:NAME</code> find items. In the timeline and the table, arrow keys move, <kbd>Enter</kbd> opens an item, and <kbd>+</kbd> and <kbd>-</kbd> zoom.</p>
<div id="lanes"></div>
<div class="pair">
<div id="rows"></div>
<div id="detail" tabindex="-1" role="region" aria-label="Selected item" hidden></div>
</div>
<noscript><p>A script shows this section.</p></noscript>
`)
}

func (p *writer) decisions() {
	if len(p.r.Decisions) == 0 {
		p.add("<p>The run made no decisions.</p>\n")
		return
	}
	p.add("<ol>")
	for i := range p.r.Decisions[:min(len(p.r.Decisions), shownRows)] {
		d := &p.r.Decisions[i]
		x := p.r.Items[d.Item-1]
		answer := x.Status
		if d.Answer != nil {
			answer = report.Line(d.Answer)
		}
		v := p.views[x.N]
		if v != nil && v.Verdict != "" {
			p.add("<li id=\"decision-%d\"><a href=\"#item-%d\">%s</a> (%s): %s", i+1, d.Item, v.Title, cmp.Or(x.Details.Host, x.Name), v.Verdict)
		} else {
			p.add("<li id=\"decision-%d\"><a href=\"#item-%d\">%s %s</a>: %s → %s", i+1, d.Item, x.Kind, cmp.Or(x.Details.Host, x.Name), asked(d.Request), answer)
		}
		if by := strings.TrimSpace(d.Actor.Type + " " + d.Actor.Name); by != "" {
			p.add(" (%s)", by)
		}
		if d.Wait != nil {
			p.add(" after %s", seconds(*d.Wait))
		}
		if d.Source != nil {
			p.add(" at %s", *d.Source)
		}
		if v != nil && v.Verdict != "" && v.Body != "" {
			p.add("<pre>%s</pre>", v.Body)
		}
		p.add("</li>\n")
	}
	p.add("</ol>\n")
	p.others(len(p.r.Decisions))
}

func (p *writer) errors() {
	n := 0
	for _, x := range p.r.Items {
		if !x.IsError() {
			continue
		}
		if n++; n > shownRows {
			continue
		}
		if n == 1 {
			p.add("<ol>")
		}
		p.add("<li><a href=\"#item-%d\">%s</a>: %s", x.N, strings.TrimSpace(x.Kind+" "+x.Name), cmp.Or(x.Error, x.Details.ErrorKind, x.Status))
		if x.At != nil {
			p.add(" at %s", *x.At)
			if line := p.r.SourceLine(*x.At); line != "" {
				p.add("<pre>%s</pre>", line)
			}
		}
		p.add("</li>\n")
	}
	if n == 0 {
		p.add("<p>The run has no errors.</p>\n")
		return
	}
	p.add("</ol>\n")
	p.others(n)
}

func (p *writer) usage() {
	t := &p.r.Totals
	for _, table := range []struct {
		name string
		key  func(*report.Total) string
		rows []report.Total
	}{
		{"Model", func(t *report.Total) string { return t.Connection + "/" + t.Model }, t.Models},
		{"Agent", func(t *report.Total) string { return t.Agent }, t.Agents},
		{"Host", func(t *report.Total) string { return t.Host }, t.Hosts},
		{"Stage", func(t *report.Total) string { return t.Stage }, t.Stages},
		{"Task", func(t *report.Total) string { return fmt.Sprintf("%d %s", t.Task, t.Function) }, t.Tasks},
	} {
		if len(table.rows) == 0 {
			continue
		}
		p.add("<table><thead><tr><th>%s</th><th>Calls</th><th>Failed</th><th>Tokens in</th><th>Cached</th><th>Written</th><th>Tokens out</th><th>Reasoning</th><th>Cost</th><th>Time</th></tr></thead><tbody>\n", table.name)
		for i := range table.rows[:min(len(table.rows), shownTotals)] {
			row := &table.rows[i]
			p.add("<tr><td>%s</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>%s</td><td>%s</td></tr>\n", table.key(row), row.Calls, row.Failed, row.TokensIn, row.Cached, row.CacheWrite, row.TokensOut, row.Reasoning, cost(row), seconds(row.Seconds))
		}
		p.add("</tbody></table>\n")
		if more := len(table.rows) - shownTotals; more > 0 {
			p.add("<p class=\"others\">and %d more</p>\n", more)
		}
	}
	for i, use := range p.r.Cache {
		if i == 0 {
			p.add("<h3>Cache of the providers</h3>\n")
		}
		for _, line := range use.Lines() {
			p.add("<p>%s</p>\n", line)
		}
	}
	if t.All.Calls == 0 && len(t.Hosts) == 0 {
		p.add("<p>The run called no models and no hosts.</p>\n")
	}
}

// shownTotals is the number of rows of a table of totals.
const shownTotals = 20

func (p *writer) program() {
	g, err := graph.Read(p.r.Graph)
	if err != nil {
		p.add("<p>The report has no graph of the program.</p>\n")
		return
	}
	p.r.Annotate(g)
	p.WriteString(g.Drawing())
	p.add("<div id=\"about\" aria-live=\"polite\"></div>\n<details><summary>As text</summary><pre tabindex=\"0\">%s</pre></details>\n", g.Text())
}
