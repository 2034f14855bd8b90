package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Change is the change of a file.
type Change struct {
	Path           string
	Kind           string // "add", "edit", "delete" or "move"
	To             string // the new path, if Kind is "move"
	Hunks          []Hunk
	Added, Removed int    // numbers of lines
	Note           string // what the hunks do not show; "" for nothing
}

// Hunk is a sequence of lines. Old and New are the numbers of its first line, from 1; 0 if they are
// unknown.
type Hunk struct {
	Old, New int
	Lines    []Line
}

// Line is a line of a hunk without its line end. Op is ' ', '+' or '-'; '\\' begins a remark about
// the line before.
type Line struct {
	Op   byte
	Text string
}

func (c *Change) verb() string {
	return map[string]string{"add": "Write", "edit": "Edit", "delete": "Delete", "move": "Move"}[c.Kind]
}

// replacement is a change with whole texts.
type replacement struct {
	Path string  `json:"path"`
	Old  *string `json:"old"` // nil if the file does not exist
	New  string  `json:"new"`
}

// maxDiffed is the maximum size of the texts that are compared, in bytes. The time for comparing
// grows with the number of differences.
const maxDiffed = 4 << 20

// changes returns the changes of files that a request consists of, or nil. It removes the arguments
// that the changes show.
func (a *arguments) changes(m *message, read func(string) ([]byte, error)) (out []Change) {
	if len(m.Changes) > 0 {
		for _, r := range m.Changes {
			out = append(out, r.change())
		}
		a.omit("file_path", "path", "old_string", "new_string", "replace_all", "edits", "content")
		return out
	}
	if changes, ok := a.all.GetString("changes"); ok {
		if out = patched(changes); out != nil {
			a.all.Delete(value.String("changes"))
		}
		return out
	}
	path := a.text("file_path", "path")
	if path == "" || m.Kind != "edit" && m.Kind != "" {
		return nil
	}
	content, isWhole := a.all.GetString("content")
	edits := a.edits()
	switch {
	case edits != nil:
		out = []Change{edited(path, edits, read)}
		a.omit("old_string", "new_string", "replace_all", "edits")
	case isWhole && content.Kind() == value.KindString:
		out = []Change{written(path, content.AsString(), read)}
		a.omit("content")
	default:
		return nil
	}
	a.omit("file_path", "path")
	return out
}

func (a *arguments) omit(names ...string) {
	for _, name := range names {
		a.all.Delete(value.String(name))
	}
}

// edit replaces a text by another.
type edit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// edits returns the edits of one file, or nil.
func (a *arguments) edits() (out []edit) {
	text := value.AppendJSON(nil, a.all.Slot())
	var one struct {
		Old   *string `json:"old_string"`
		New   *string `json:"new_string"`
		All   bool    `json:"replace_all"`
		Edits []edit  `json:"edits"`
	}
	if json.Unmarshal(text, &one) != nil {
		return nil
	}
	if one.Old != nil && one.New != nil {
		return []edit{{*one.Old, *one.New, one.All}}
	}
	return one.Edits
}

// edited returns the change by edits. If the file cannot be read, or does not contain a text, the
// change consists of the edits, without line numbers.
func edited(path string, edits []edit, read func(string) ([]byte, error)) Change {
	if read != nil {
		if before, err := read(path); err == nil {
			after, note := string(before), ""
			for i, e := range edits {
				n := strings.Count(after, e.Old)
				switch {
				case e.Old == "" && after == "":
					after = e.New
				case n == 0 || e.Old == "":
					note = "the text to replace does not occur in the file"
				case n > 1 && !e.All:
					note = fmt.Sprintf("the text to replace occurs %d times in the file", n)
				default:
					count := 1
					if e.All {
						count = -1
					}
					after = strings.Replace(after, e.Old, e.New, count)
					continue
				}
				if note != "" && len(edits) > 1 {
					note += fmt.Sprintf(" (edit %d of %d)", i+1, len(edits))
				}
			}
			if note == "" {
				return compare(path, "edit", string(before), after)
			}
			c := unplaced(path, edits)
			c.Note = note
			return c
		}
	}
	return unplaced(path, edits)
}

// unplaced returns edits whose place in the file is unknown.
func unplaced(path string, edits []edit) Change {
	c := Change{Path: path, Kind: "edit"}
	for _, e := range edits {
		part := compare(path, "edit", e.Old, e.New)
		for i := range part.Hunks {
			part.Hunks[i].Old, part.Hunks[i].New = 0, 0
			part.Hunks[i].Lines = slices.DeleteFunc(part.Hunks[i].Lines, func(l Line) bool { return l.Op == '\\' }) // an edit need not end with a line
		}
		c.Hunks = append(c.Hunks, part.Hunks...)
		c.Added, c.Removed = c.Added+part.Added, c.Removed+part.Removed
		if e.All {
			c.Note = "each occurrence is replaced"
		}
	}
	return c
}

// written returns the change of a file whose content is replaced.
func written(path, content string, read func(string) ([]byte, error)) Change {
	if read == nil {
		return compare(path, "add", "", content)
	}
	before, err := read(path)
	if err != nil {
		return compare(path, "add", "", content)
	}
	return compare(path, "edit", string(before), content)
}

func (r *replacement) change() Change {
	if r.Old == nil {
		return compare(r.Path, "add", "", r.New)
	}
	return compare(r.Path, "edit", *r.Old, r.New)
}

// compare returns the difference between two contents of a file.
func compare(path, kind, before, after string) Change {
	c := Change{Path: path, Kind: kind}
	switch {
	case isBinary(before) || isBinary(after):
		c.Note = fmt.Sprintf("a binary file: %d bytes become %d bytes", len(before), len(after))
	case before == after:
		c.Note = "the content stays the same"
		if before == "" {
			c.Note = "an empty file"
		}
	case len(before)+len(after) > maxDiffed:
		c.Note = fmt.Sprintf("too large to compare: %d bytes become %d bytes", len(before), len(after))
	default:
		c.parse(string(diff.Diff("a", []byte(before), "b", []byte(after))))
	}
	return c
}

func isBinary(text string) bool {
	return strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)
}

// parse adds the hunks of a patch of one file. Lines before the first hunk are ignored.
func (c *Change) parse(patch string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(patch, "\n"), "\n") {
		if h, ok := hunkAt(line); ok {
			c.Hunks = append(c.Hunks, h)
			continue
		}
		if len(c.Hunks) == 0 {
			continue
		}
		op, text := byte(' '), line
		if line != "" {
			op, text = line[0], line[1:]
		}
		switch op {
		case '+':
			c.Added++
		case '-':
			c.Removed++
		case ' ', '\\':
		default:
			c.Note = strings.TrimSpace(c.Note + "\n" + line)
			continue
		}
		h := &c.Hunks[len(c.Hunks)-1]
		h.Lines = append(h.Lines, Line{op, text})
	}
}

// hunkAt parses the first line of a hunk, such as "@@ -12,3 +14,7 @@".
func hunkAt(line string) (h Hunk, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return h, false
	}
	old, rest, ok := strings.Cut(rest, " +")
	if !ok {
		return h, false
	}
	added, _, _ := strings.Cut(rest, " @@")
	number := func(text string) int {
		text, _, _ = strings.Cut(text, ",")
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	return Hunk{Old: number(old), New: number(added)}, true
}

// patched returns the changes that Codex requests: a list with a path, a kind and a patch or a
// content, or an object by path in its older protocol. It returns nil for another value.
func patched(changes value.Slot) (out []Change) {
	type change struct {
		Path    string          `json:"path"`
		Kind    json.RawMessage `json:"kind"`
		Type    string          `json:"type"`
		To      *string         `json:"move_path"`
		Diff    string          `json:"diff"`
		Unified string          `json:"unified_diff"`
		Content string          `json:"content"`
	}
	add := func(path string, x *change) {
		kind := struct {
			Type string  `json:"type"`
			To   *string `json:"move_path"`
		}{x.Type, x.To}
		if len(bytes.TrimSpace(x.Kind)) > 0 && json.Unmarshal(x.Kind, &kind) != nil {
			_ = json.Unmarshal(x.Kind, &kind.Type) // an unknown kind is an edit
		}
		c := Change{Path: path, Kind: "edit"}
		patch, _, _ := strings.Cut(x.Diff+x.Unified, "\n\nMoved to: ")
		switch {
		case kind.Type == "add":
			c = compare(path, "add", "", x.Content+x.Diff)
		case kind.Type == "delete":
			c = compare(path, "delete", x.Content+x.Diff, "")
		default:
			c.parse(patch)
		}
		if kind.To != nil && *kind.To != "" {
			c.Kind, c.To = "move", *kind.To
		}
		out = append(out, c)
	}
	text := value.AppendJSON(nil, changes)
	var list []change
	if json.Unmarshal(text, &list) == nil {
		for i := range list {
			add(list[i].Path, &list[i])
		}
		return out
	}
	m := changes.Map()
	if m == nil {
		return nil
	}
	m.Each(func(k, v value.Slot) bool {
		var x change
		if json.Unmarshal(value.AppendJSON(nil, v), &x) == nil {
			add(value.Text(k), &x)
		}
		return true
	})
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

// Unified returns the changes of a request as a patch, with the notes as lines before the hunks; ""
// if it changes no files.
func (v *View) Unified() string {
	var b strings.Builder
	for i := range v.Files {
		c := &v.Files[i]
		from, to := "a/"+c.Path, "b/"+cmp.Or(c.To, c.Path)
		fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
		switch c.Kind {
		case "add":
			from = "/dev/null"
		case "delete":
			to = "/dev/null"
		}
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
		if c.Note != "" {
			b.WriteString(c.Note + "\n")
		}
		for _, h := range c.Hunks {
			h.write(&b)
		}
	}
	return b.String()
}

// write writes the hunk. One whose place is unknown begins at line 1, after a note.
func (h *Hunk) write(b *strings.Builder) {
	before, after := 0, 0
	for _, l := range h.Lines {
		switch l.Op {
		case '-':
			before++
		case '+':
			after++
		case ' ':
			before++
			after++
		}
	}
	from, to := h.Old, h.New
	if from == 0 && to == 0 && before > 0 {
		b.WriteString("the numbers are those of the edit, not of the file\n")
		from, to = 1, 1
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", from, before, to, after)
	for _, l := range h.Lines {
		fmt.Fprintf(b, "%c%s\n", l.Op, l.Text)
	}
}
