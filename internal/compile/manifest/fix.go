package manifest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// This file contains fixes of a manifest or of a file of tools.

// suggestKey adds a hint and a fix to d: the key n was probably meant to be near.
func (r *reader) suggestKey(d *diag.Diagnostic, n *node, near string, names []string) {
	if r.file.Slice(n.key) != n.name { // the key is in quotes, or it is a part of a dotted key
		d.Hint("did you mean `%s`?", near)
		return
	}
	d.SuggestName(n.key, near, suggest.Certain(n.name, near, names) && !strings.Contains(r.file.String(), near)) // the file may already contain the suggested key
}

// suggestWord adds a hint and a fix to d: the text of n was probably meant to be near.
func (r *reader) suggestWord(d *diag.Diagnostic, n *node, text, near string, words []string) {
	written := near
	if s := r.file.Slice(n.value); s == strconv.Quote(text) || s == "'"+text+"'" {
		written = s[:1] + near + s[:1]
	} else if s != text {
		d.Hint("did you mean %q?", near)
		return
	}
	d.Repair(diag.Change(n.value, near, written, suggest.Certain(text, near, words)), "did you mean %q?", near)
}

// unquoteFixes returns the fix for a value that would be correct without its quotes.
func (r *reader) unquoteFixes(k *Key, n *node, v any) []diag.Fix {
	text, isText := v.(string)
	written := r.file.Slice(n.value)
	switch {
	case isText && k.Unit == "seconds" && foreign.Seconds(text) != "":
		return []diag.Fix{diag.UnsafeFix(diag.Replace(n.value, foreign.Seconds(text)), "Write `%s`", foreign.Seconds(text))}
	case isText && len(written) == len(text)+2 && bare(k.Type, text):
		return []diag.Fix{diag.UnsafeFix(diag.Replace(n.value, text), "Write `%s`", text)}
	case !isText && (k.Type == String || k.Type == Enum) && n.kind == scalar && !strings.ContainsAny(written, "\"'\n\\"):
		return []diag.Fix{diag.UnsafeFix(diag.Replace(n.value, `"`+written+`"`), "Write `\"%s\"`", written)}
	}
	return nil
}

// bare reports whether a text would be a value of type t without quotes.
func bare(t Type, text string) bool {
	switch t {
	case Integer:
		n, err := strconv.ParseInt(text, 10, 64)
		return err == nil && strconv.FormatInt(n, 10) == text
	case Number:
		_, err := strconv.ParseFloat(text, 64)
		return err == nil && strings.Trim(text, "0123456789.") == "" && !strings.HasPrefix(text, ".") && !strings.HasSuffix(text, ".")
	case Bool:
		return text == "true" || text == "false"
	}
	return false
}

// addLine returns the fix that adds a line to the section of n. It returns nil unless the file is
// TOML.
func (r *reader) addLine(n *node, line string) []diag.Fix {
	start := r.file.LineStart(r.file.LineOf(n.key.Start))
	rest := r.file.Slice(source.Span{Start: start, End: source.Pos(len(r.file.Text))})
	header, _, _ := strings.Cut(rest, "\n")
	header = strings.TrimSuffix(header, "\r")
	if r.form != inTOML || !strings.HasPrefix(header, "[") || strings.HasPrefix(header, "[[") {
		return nil
	}
	return []diag.Fix{diag.UnsafeFix(diag.Insert(start+source.Pos(len(header)), "\n"+line), "Add `%s`", line)}
}

// removeLinesFix returns the fix that removes a key with its value. It returns nil if other text is
// on the same lines.
func removeLinesFix(f *source.File, n *node) []diag.Fix {
	at := source.Span{Start: f.LineStart(f.LineOf(n.key.Start)), End: n.value.End}
	rest := f.Slice(source.Span{Start: n.value.End, End: source.Pos(len(f.Text))})
	line, _, more := strings.Cut(rest, "\n")
	if strings.TrimSpace(line) != "" || strings.TrimSpace(f.Slice(source.Span{Start: at.Start, End: n.key.Start})) != "" || n.value.Start < n.key.End {
		return nil
	}
	if at.End += source.Pos(len(line)); more {
		at.End++
	}
	return []diag.Fix{diag.UnsafeFix(diag.Remove(at), "Remove the second `%s`", n.name)}
}

// reportUnnamed reports the keys that are directly in a section that needs a name, such as
// [connections], and returns them. If one of them is `name`, its value is the name of the section,
// and read reads the section.
func (r *reader) reportUnnamed(n *node, values map[string]any, read func(n *node, v any)) (loose []*node) {
	names := namesIn(n.name + ".*")
	var key, name *node
	for _, c := range n.children {
		if _, isTable := values[c.name].(map[string]any); isTable {
			continue
		}
		loose = append(loose, c)
		if c.name == "name" && !slices.Contains(names, "name") {
			name = c
		} else if key == nil && slices.Contains(names, c.name) {
			key = c
		}
	}
	if key == nil {
		return nil
	}
	text := "NAME"
	if name != nil {
		if s, ok := values["name"].(string); ok && bareKey().MatchString(s) {
			text = s
		}
	}
	section := n.name + "." + text
	d := r.kinds.typ.At(key.key, "`%s` must be in a section with a name, not in [%s]", key.name, n.name)
	r.add(d.Hint("write `[%s]` instead of `[%s]`", section, n.name))
	if text == "NAME" {
		r.m.Nameless = true
		return loose
	}
	header := source.Span{Start: r.file.LineStart(r.file.LineOf(loose[0].key.Start) - 1), End: loose[0].key.Start}
	if edits := removeLinesFix(r.file, name); len(loose) == len(n.children) && len(edits) == 1 &&
		strings.TrimSpace(r.file.Slice(header)) == "["+n.name+"]" {
		at := n.key
		d.WithFixes(diag.Fix{Title: "Change to `[" + section + "]`", Edits: append([]diag.Edit{diag.Replace(at, section)}, edits[0].Edits...)})
	}
	named := &node{name: text, key: n.key, value: n.value, kind: table, index: map[string]*node{}}
	inside := map[string]any{}
	for _, c := range loose {
		if c != name {
			named.children, named.index[c.name], inside[c.name] = append(named.children, c), c, values[c.name]
		}
	}
	read(named, inside)
	return loose
}

// bareKey matches a name that needs no quotes in a header.
var bareKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })
