package manifest

import (
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/internal/spell"
)

// What is to be written in the place of what the manifest, or a file of tools, says.

// meantKey adds that a key was probably meant to be another.
func (r *reader) meantKey(d *diag.Diagnostic, n *node, near string, known []string) {
	if r.file.Slice(n.key) != n.name { // in quotes, or a part of a longer one
		d.Hint("did you mean `%s`?", near)
		return
	}
	d.Meant(n.key, near, spell.Alone(n.name, near, known) && !strings.Contains(r.file.String(), near)) // which may stand there besides
}

// meantWord adds that a text was probably meant to be another.
func (r *reader) meantWord(d *diag.Diagnostic, n *node, text, near string, known []string) {
	written := near
	if s := r.file.Slice(n.value); s == strconv.Quote(text) || s == "'"+text+"'" {
		written = s[:1] + near + s[:1]
	} else if s != text {
		d.Hint("did you mean %q?", near)
		return
	}
	d.Repair(diag.Change(n.value, near, written, spell.Alone(text, near, known)), "did you mean %q?", near)
}

// plainly are the fixes of a value that is right but for its quotes.
func (r *reader) plainly(k *Key, n *node, v any) []diag.Fix {
	text, isText := v.(string)
	written := r.file.Slice(n.value)
	switch {
	case isText && len(written) == len(text)+2 && bare(k.Type, text):
		return []diag.Fix{diag.Offer(diag.Replace(n.value, text), "Write `%s`", text)}
	case !isText && (k.Type == String || k.Type == Enum) && n.kind == scalar && !strings.ContainsAny(written, "\"'\n\\"):
		return []diag.Fix{diag.Offer(diag.Replace(n.value, `"`+written+`"`), "Write `\"%s\"`", written)}
	}
	return nil
}

// bare says whether a text is a value of a type without its quotes.
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

// addLine adds a line to the section whose header is n's, in TOML.
func (r *reader) addLine(n *node, line string) []diag.Fix {
	start := r.file.LineStart(r.file.LineOf(n.key.Start))
	rest := r.file.Slice(source.Span{Start: start, End: source.Pos(len(r.file.Text))})
	header, _, _ := strings.Cut(rest, "\n")
	header = strings.TrimSuffix(header, "\r")
	if r.form != inTOML || !strings.HasPrefix(header, "[") || strings.HasPrefix(header, "[[") {
		return nil
	}
	return []diag.Fix{diag.Offer(diag.Insert(start+source.Pos(len(header)), "\n"+line), "Add `%s`", line)}
}

// withoutLines removes a key with its value, when they have their lines for themselves.
func withoutLines(f *source.File, n *node) []diag.Fix {
	at := source.Span{Start: f.LineStart(f.LineOf(n.key.Start)), End: n.value.End}
	rest := f.Slice(source.Span{Start: n.value.End, End: source.Pos(len(f.Text))})
	line, _, more := strings.Cut(rest, "\n")
	if strings.TrimSpace(line) != "" || strings.TrimSpace(f.Slice(source.Span{Start: at.Start, End: n.key.Start})) != "" || n.value.Start < n.key.End {
		return nil
	}
	if at.End += source.Pos(len(line)); more {
		at.End++
	}
	return []diag.Fix{diag.Offer(diag.Remove(at), "Remove the second `%s`", n.name)}
}
