package request

import (
	"cmp"
	"fmt"
	"strings"
)

// Subject returns the command of the view, or another text that its title leaves open; "" for none.
func (v *View) Subject() string {
	text := strings.TrimSpace(cmp.Or(v.Command, v.Text))
	for i := range v.Fields {
		if text == "" && !v.IsOwn && v.Fields[i].JSON[0] == '"' {
			text = v.Fields[i].Text()
		}
	}
	return text
}

// Summary returns the title of the view with its subject.
func (v *View) Summary() string {
	return strings.TrimSuffix(v.Title+": "+v.Subject(), ": ")
}

// Listing returns the whole view on one line, in which ⏎ is a line break. Of changes of files, it
// contains the numbers of lines.
func (v *View) Listing() string {
	parts := []string{strings.TrimSuffix(v.Title+": "+strings.TrimRight(v.Command, "\n"), ": ")}
	add := func(format, text string) {
		if text != "" {
			parts = append(parts, fmt.Sprintf(format, text))
		}
	}
	add("in %s", v.Dir)
	for i := range v.Files {
		c := &v.Files[i]
		counts := fmt.Sprintf("+%d −%d", c.Added, c.Removed)
		if len(v.Files) > 1 {
			counts = c.Path + " " + counts
		}
		parts = append(parts, counts)
		add("to %s", c.To)
		add("%s", c.Note)
	}
	add("%s", v.Text)
	for i := range v.Fields {
		parts = append(parts, v.Fields[i].Name+" "+string(v.Fields[i].JSON))
	}
	add("reason: %s", v.Reason)
	add("risk: %s", v.Risk)
	return strings.ReplaceAll(strings.Join(parts, "; "), "\n", "⏎")
}
