package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/tomlkeys"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

const bom = "\xef\xbb\xbf"

// toml decodes the text of the file and finds the positions of its values. If the text is not TOML,
// it reports the error and returns false.
func (r *reader) toml() (*node, map[string]any, bool) {
	text := r.file.Text
	skipped := 0
	if bytes.HasPrefix(text, []byte(bom)) {
		skipped = len(bom)
	}
	if at := utf8cut.Invalid(text); at >= 0 {
		r.add(diag.ManifestSyntax.At(source.Span{Start: source.Pos(at), End: source.Pos(at + 1)}, "invalid UTF-8: byte 0x%02x", text[at]).
			Hint("save the file as UTF-8"))
		return nil, nil, false
	}
	if at := bytes.Index(text[skipped:], []byte(bom)); at >= 0 {
		start := source.Pos(skipped + at)
		r.add(diag.ManifestSyntax.At(source.Span{Start: start, End: start + source.Pos(len(bom))}, "byte order mark in the middle of the file").
			Hint("remove this invisible character; in a string it is written as \\ufeff"))
		return nil, nil, false
	}
	values := map[string]any{}
	_, err := tomlkeys.Decode(string(text[skipped:]), &values)
	if err != nil {
		r.syntax(err, skipped)
		return nil, nil, false
	}
	// White space replaces the byte order mark, so that offsets stay correct.
	clean := append(bytes.Repeat([]byte{' '}, skipped), text[skipped:]...)
	return scan(clean), values, true
}

// rewordings replaces the messages of the TOML decoder; `$1` is the first group of the expression.
// The expressions are compiled only if a manifest has errors.
var rewordings = []struct {
	pattern, message, hint string
}{
	{`^Key '(hosts\..*\.sandbox)' has already been defined`, "duplicate key `$1`", "next to the section, Codex's own setting is `codex_sandbox`"},
	{"^(?:Key '(.*)' has already been defined|`(.*)` is already defined)", "duplicate key `$1`", "keep one of them"},
	{`(?s)^expected value but found "(.*)" instead`, "invalid value `$1`", "put text in quotes: \"$1\""},
	{`^strings cannot contain newlines`, "unterminated string", "close it with a quote, or use \"\"\" for several lines"},
	{`^files cannot contain NULL bytes`, "the file is not UTF-8 text", "save it as UTF-8"},
	{`^unexpected EOF; expected key separator '='`, "expected `key = value`", "write `key = value`, or [name] to open a table"},
	{`^(\S+) is out of range for int64`, "$1 does not fit into a 64-bit integer", "write the number in quotes"},
	{`(?s)^expected a top-level item to end with a newline, comment, or EOF, but got (.*) instead`, "expected end of line, found $1", "write one key per line, and put text in quotes"},
	{`(?s)^expected '\.' or '\]' to end table name, but got (.*) instead`, "expected `]` after the name of the table, found $1", "write the header as [name]"},
	{`(?s)^expected a comma \(','\) or array terminator \('\]'\), but got (.*)`, "expected `,` or `]`, found $1", "separate elements with commas and close the array with ]"},
}

// syntax reports an error of the TOML decoder at its position.
func (r *reader) syntax(err error, skipped int) {
	var pe tomlkeys.ParseError
	if !errors.As(err, &pe) {
		r.add(diag.ManifestSyntax.At(source.Span{}, "%v", err).Hint("see https://toml.io for the syntax"))
		return
	}
	start := min(pe.Position.Start+skipped, len(r.file.Text))
	end := min(start+max(pe.Position.Len, 0), len(r.file.Text))
	span := source.Span{Start: source.Pos(start), End: source.Pos(end)}
	for _, w := range rewordings {
		m := regexp.MustCompile(w.pattern).FindStringSubmatch(pe.Message)
		if m == nil {
			continue
		}
		group := strings.Join(m[1:], "") // of two alternatives, one has a group
		if strings.HasPrefix(w.message, "invalid value") {
			// The decoder reports the first digit of a word as the position.
			span.End = span.Start + source.Pos(bareWord(r.file.Text[start:]))
			group = r.file.Slice(span)
		}
		d := diag.ManifestSyntax.At(span, "%s", strings.ReplaceAll(w.message, "$1", group))
		r.add(d.Hint("%s", strings.ReplaceAll(w.hint, "$1", group)))
		return
	}
	r.add(diag.ManifestSyntax.At(span, "%s", strings.TrimSuffix(pe.Message, ".")).Hint("the file must be TOML"))
}

// bareWord returns the length of the word at the start of text. White space, a comment, or a
// character that ends a value ends the word.
func bareWord(text []byte) int {
	if i := bytes.IndexAny(text, " \t\r\n,]}#"); i >= 0 {
		return i
	}
	return len(text)
}

// json decodes the text of the file as JSON and finds the positions of its values.
func (r *reader) json() (*node, any, bool) {
	n, v, at, err := r.jsonValue()
	if err == nil {
		return n, v, true
	}
	for at < len(r.file.Text) && bytes.IndexByte([]byte(" \t\r\n:,"), r.file.Text[at]) >= 0 {
		at++
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err, at = errors.New("unexpected end of file"), len(r.file.Text)
	}
	r.add(diag.ManifestSyntax.At(source.Span{Start: source.Pos(at), End: source.Pos(at)}, "the script is not JSON: %v", err).
		Hint("write a JSON array of replies: [{\"text\": \"yes\"}]"))
	return nil, nil, false
}

// jsonValue decodes the text of the file as JSON. at is the offset of an error.
func (r *reader) jsonValue() (n *node, v any, at int, err error) {
	d := &jsonReader{text: r.file.Text, dec: json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(r.file.Text, []byte(bom))))}
	if bytes.HasPrefix(r.file.Text, []byte(bom)) {
		d.skipped = len(bom)
	}
	if r.form == inYAML {
		d.twice = func(first, second *node) {
			r.add(diag.ToolKeyTwice.At(second.key, "duplicate key `%s`", second.name).Label(first.key, "the first one").Hint("keep one of them"))
		}
	}
	d.dec.UseNumber()
	n, v, err = d.value(0)
	if err == nil {
		if _, extra := d.dec.Token(); extra != io.EOF {
			err = errors.New("unexpected text after the value")
		}
	}
	return n, v, min(int(d.dec.InputOffset())+d.skipped, len(r.file.Text)), err
}

// jsonReader reads JSON token by token, to find the positions of the tokens.
type jsonReader struct {
	text    []byte
	dec     *json.Decoder
	skipped int
	twice   func(first, second *node) // called for a duplicate member; if it is nil, a duplicate is an error
}

// deepest is the maximum nesting of values.
const deepest = 1000

// next returns the offset of the next token.
func (d *jsonReader) next() source.Pos {
	at := int(d.dec.InputOffset()) + d.skipped
	for at < len(d.text) && bytes.IndexByte([]byte(" \t\r\n:,"), d.text[at]) >= 0 {
		at++
	}
	return source.Pos(at)
}

// value reads one value. A number without a fraction becomes an int64, as in TOML, or a json.Number
// if it does not fit.
func (d *jsonReader) value(depth int) (*node, any, error) {
	start := d.next()
	t, err := d.dec.Token()
	switch {
	case err != nil:
		return nil, nil, err
	case depth > deepest:
		return nil, nil, fmt.Errorf("values nested more than %d levels deep", deepest)
	}
	n := &node{value: source.Span{Start: start, End: source.Pos(int(d.dec.InputOffset()) + d.skipped)}}
	var v any = t
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			v, err = d.object(n, depth)
		} else {
			v, err = d.array(n, depth)
		}
		n.value.End = source.Pos(int(d.dec.InputOffset()) + d.skipped)
	case json.Number:
		v = plainNumber(t)
	}
	n.key = n.value
	return n, v, err
}

func plainNumber(t json.Number) any {
	if i, err := t.Int64(); err == nil {
		return i
	}
	if f, err := t.Float64(); err == nil && strings.ContainsAny(string(t), ".eE") {
		return f
	}
	return t
}

func (d *jsonReader) object(n *node, depth int) (any, error) {
	n.kind = table
	out := map[string]any{}
	for d.dec.More() {
		start := d.next()
		k, err := d.dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := k.(string)
		end := source.Pos(int(d.dec.InputOffset()) + d.skipped)
		c, v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		c.name, c.key = name, source.Span{Start: start, End: end}
		switch first := n.child(name); {
		case first != nil && d.twice == nil:
			return nil, errors.New("duplicate key " + strconv.Quote(name) + " in an object")
		case first != nil:
			d.twice(first, c)
			continue
		}
		n.add(c)
		out[name] = v
	}
	_, err := d.dec.Token()
	return out, err
}

func (d *jsonReader) array(n *node, depth int) (any, error) {
	n.kind = array
	out := []any{}
	for d.dec.More() {
		c, v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.add(c)
		out = append(out, v)
	}
	_, err := d.dec.Token()
	return out, err
}
