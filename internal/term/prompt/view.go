package prompt

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// opening returns the sentence with which an approval begins, such as "Coder asks to run a
// command".
func opening(sender string, v *request.View) string {
	title := v.Title
	if v.IsOwn {
		return sender + " requests approval: " + terminal.OneLine(title)
	}
	r, n := utf8.DecodeRuneInString(title)
	return sender + " asks to " + string(unicode.ToLower(r)) + terminal.OneLine(title[n:])
}

// Approval returns a request for approval of a sender as an approval shows it, its opening sentence
// and its body, broken into lines for a width, in cells.
func Approval(sender string, v *request.View, color bool, width int) []string {
	return screen.Wrap(append([]screen.Row{{Text: opening(sender, v)}}, rowsOf(v)...), color, width)
}

// rowsOf returns the body of a request.
func rowsOf(v *request.View) (rows []screen.Row) {
	add := func(lead, text string, color screen.Color) {
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			rows = append(rows, screen.Row{Lead: lead, Text: shownLine(line), Color: color})
		}
	}
	if v.Command != "" {
		add("  ", strings.Trim(v.Command, "\r\n"), screen.Plain)
	}
	if v.Dir != "" {
		add("  ", "in "+v.Dir, screen.Plain)
	}
	for i := range v.Files {
		rows = append(rows, changeRows(&v.Files[i], len(v.Files) > 1)...)
	}
	if v.Text != "" {
		add("  ", v.Text, screen.Plain)
	}
	for i := range v.Fields {
		name, text := terminal.OneLine(v.Fields[i].Name), v.Fields[i].Text()
		if strings.Contains(text, "\n") {
			add("  ", name+":", screen.Plain)
			add("    ", text, screen.Plain)
		} else {
			add("  ", name+": "+text, screen.Plain)
		}
	}
	if v.Reason != "" {
		add("  ", "reason: "+v.Reason, screen.Plain)
	}
	if v.Risk != "" {
		add("  ", "risk: "+v.Risk, screen.Plain)
	}
	return rows
}

// shownLine returns a line with visible forms of hidden characters. Tabs that indent it are spaces.
func shownLine(line string) string {
	rest := strings.TrimLeft(line, "\t")
	return strings.Repeat("    ", len(line)-len(rest)) + terminal.OneLine(rest)
}

// changeRows returns the change of a file, with its name if it is one of several.
func changeRows(c *request.Change, isNamed bool) (rows []screen.Row) {
	if isNamed {
		name := terminal.OneLine(c.Path)
		if c.Kind != "edit" {
			name += " (" + c.Kind + ")"
		}
		rows = append(rows, screen.Row{Lead: "  ", Text: name + counts(c)})
	}
	if c.To != "" {
		rows = append(rows, screen.Row{Lead: "  ", Text: "to " + terminal.OneLine(c.To)})
	}
	if c.Note != "" {
		for line := range strings.SplitSeq(c.Note, "\n") {
			rows = append(rows, screen.Row{Lead: "  ", Text: shownLine(line), Color: screen.Yellow})
		}
	}
	wide := 1
	for _, h := range c.Hunks {
		wide = max(wide, len(strconv.Itoa(max(h.Old, h.New)+len(h.Lines))))
	}
	for i, h := range c.Hunks {
		if i > 0 {
			rows = append(rows, screen.Row{Lead: "  ", Text: "⋯"})
		}
		rows = append(rows, hunkRows(&h, wide)...)
	}
	return rows
}

// hunkRows returns the lines of a hunk with their numbers, of at most wide digits, before and after
// the change.
func hunkRows(h *request.Hunk, wide int) (rows []screen.Row) {
	before, after := h.Old, h.New
	number := func(n int, isShown bool) string {
		if h.Old == 0 && h.New == 0 {
			return ""
		}
		if !isShown {
			return strings.Repeat(" ", wide+1)
		}
		return fmt.Sprintf("%*d ", wide, n)
	}
	for _, l := range h.Lines {
		row := screen.Row{Text: shownLine(l.Text)}
		switch l.Op {
		case '-':
			row.Lead, row.Color = number(before, true)+number(0, false)+"- ", screen.Red
			before++
		case '+':
			row.Lead, row.Color = number(0, false)+number(after, true)+"+ ", screen.Green
			after++
		case '\\':
			row.Lead, row.Text = number(0, false)+number(0, false)+"  ", "("+strings.ToLower(strings.TrimSpace(row.Text))+")"
		default:
			row.Lead = number(before, true) + number(after, true) + "  "
			before, after = before+1, after+1
		}
		row.Lead = "  " + row.Lead
		rows = append(rows, row)
	}
	return rows
}

// counts returns the numbers of added and removed lines, such as " +2 −1".
func counts(c *request.Change) string {
	if c.Added+c.Removed == 0 {
		return ""
	}
	return fmt.Sprintf(" +%d −%d", c.Added, c.Removed)
}

// remains returns the lines of a request that remain on the screen with the decision: its title,
// and a command, or the numbers of changed lines.
func remains(sender string, v *request.View) string {
	head := opening(sender, v)
	if len(v.Files) == 1 {
		head += counts(&v.Files[0])
	}
	var rest []string
	for i := range v.Files {
		if len(v.Files) > 1 {
			rest = append(rest, "  "+terminal.OneLine(v.Files[i].Path)+counts(&v.Files[i]))
		}
	}
	for _, text := range []string{strings.Trim(v.Command, "\r\n"), v.Text} {
		if text == "" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			rest = append(rest, strings.TrimRight("  "+shownLine(line), " "))
		}
	}
	return strings.Join(append([]string{head}, rest...), "\n")
}
