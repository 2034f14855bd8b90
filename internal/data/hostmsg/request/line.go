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

// Parts returns the parts of the view after its title, in which changes describes the changes of
// files.
func (v *View) Parts(changes string) (parts []string) {
	all := [][2]string{{"", strings.TrimRight(v.Command, "\n")}, {"in ", v.Dir}, {"", strings.TrimRight(changes, "\n")}, {"", v.Text}}
	for i := range v.Fields {
		all = append(all, [2]string{v.Fields[i].Name + ": ", v.Fields[i].Text()})
	}
	for _, part := range append(all, [2]string{"reason: ", v.Reason}, [2]string{"risk: ", v.Risk}) {
		if part[1] != "" {
			parts = append(parts, part[0]+part[1])
		}
	}
	return parts
}

// Listing returns the whole view on one line, in which ⏎ is a line break. Of changes of files, it
// contains the numbers of lines.
func (v *View) Listing() string {
	changes := ""
	for i := range v.Files {
		c := &v.Files[i]
		if len(v.Files) > 1 {
			changes += c.Path + " "
		}
		changes += strings.TrimSpace(fmt.Sprintf("+%d −%d %s %s", c.Added, c.Removed, c.To, c.Note)) + "\n"
	}
	return strings.ReplaceAll(strings.TrimSuffix(v.Title+": "+strings.Join(v.Parts(changes), "; "), ": "), "\n", "⏎")
}
